// How this page came to be: the fragment of its first address holds the token of this launch, and which shell shows it.
// The token goes from the address bar at once; it lives as long as the tab.

const TOKEN = "tokbar.token";
const SHELL = "tokbar.shell";
const SERVER = "tokbar.server";

export interface Session {
  token: string | null;
  /** `mac` or `linux` inside the app's window, else `browser`. */
  shell: "mac" | "linux" | "browser";
  /** Where the server is; empty for where the page came from. */
  base: string;
}

/** Reads `#token=…&shell=…&panel=…`; anything else is a route and stays. */
export function openSession(): Session {
  const fragment = location.hash.slice(1);
  if (!fragment.startsWith("/")) {
    const given = new URLSearchParams(fragment);
    keep(TOKEN, given.get("token"));
    keep(SHELL, given.get("shell"));
    keep(SERVER, loopback(given.get("server")));
    const panel = given.get("panel");
    history.replaceState(null, "", `${location.pathname}${location.search}#/${panel ?? ""}`);
  }
  const shell = sessionStorage.getItem(SHELL);
  return {
    token: sessionStorage.getItem(TOKEN),
    shell: shell === "mac" || shell === "linux" ? shell : "browser",
    base: sessionStorage.getItem(SERVER) ?? "",
  };
}

function keep(key: string, value: string | null): void {
  if (value) sessionStorage.setItem(key, value);
}

/** A link must not lead the token elsewhere. */
export function loopback(server: string | null): string | null {
  const url = server && URL.canParse(server) ? new URL(server) : null;
  if (url?.protocol !== "http:") return null;
  return ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname) ? url.origin : null;
}

// Which panel is shown: the fragment `#/chat/42` names a panel and what in it.

export const PANELS = ["now", "models", "chat", "connect", "bench", "logs", "settings", "about"] as const;
export type Panel = (typeof PANELS)[number];

function isPanel(name: string | undefined): name is Panel {
  return PANELS.some((panel) => panel === name);
}

function read(): { panel: Panel; rest: string } {
  const [, name, ...rest] = location.hash.split("/");
  return isPanel(name) ? { panel: name, rest: decodeURIComponent(rest.join("/")) } : { panel: "now", rest: "" };
}

class Route {
  #now = $state(read());

  get panel(): Panel {
    return this.#now.panel;
  }

  /** What of the panel; empty for its start. */
  get rest(): string {
    return this.#now.rest;
  }

  go(panel: Panel, rest = ""): void {
    location.hash = href(panel, rest);
  }

  read(): void {
    this.#now = read();
  }
}

export function href(panel: Panel, rest = ""): string {
  return `#/${panel}${rest ? `/${encodeURIComponent(rest)}` : ""}`;
}

export const route = new Route();

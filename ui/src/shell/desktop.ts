// What only the app's own window can do. In a browser there is none of it.

interface Invoker {
  core: { invoke<T>(command: string, given?: Record<string, unknown>): Promise<T> };
}

/** What is known of updates of the app. */
export interface Update {
  /** In a sentence; nothing before anybody has looked. */
  words: string;
  is_looking: boolean;
  /** What can be installed now; its notes are plain text. */
  ready: { version: string; notes: string } | null;
}

function invoker(): Invoker | null {
  const tauri: unknown = Reflect.get(globalThis, "__TAURI__");
  return typeof tauri === "object" && tauri !== null && "core" in tauri ? (tauri as Invoker) : null;
}

export function isDesktop(): boolean {
  return invoker() !== null;
}

function invoke<T>(command: string, given?: Record<string, unknown>): Promise<T> {
  const tauri = invoker();
  return tauri ? tauri.core.invoke<T>(command, given) : Promise.reject(new Error("only the Tokbar app can do this"));
}

export const desktop = {
  loginItem: () => invoke<boolean>("login_item"),
  setLoginItem: (on: boolean) => invoke<boolean>("set_login_item", { on }),
  reveal: (path: string) => invoke<null>("reveal", { path }),
  update: () => invoke<Update>("update"),
  checkForUpdates: () => invoke<Update>("check_for_updates"),
  installUpdate: () => invoke<null>("install_update"),
  about: () => invoke<{ is_icon_seen: boolean }>("about"),
  openMenuBarSettings: () => invoke<null>("open_menu_bar_settings"),
  quit: () => invoke<null>("quit"),
};

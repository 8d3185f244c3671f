// Appearance and language as settings have them.

import type { Settings } from "../lib/control";
import { locale } from "../text/locale.svelte";

const KEY = "tokbar.appearance";

export function applyLook(app: Pick<Settings["app"], "appearance" | "language">): void {
  localStorage.setItem(KEY, app.appearance);
  showKept();
  locale.choose(app.language === "system" ? null : app.language === "en" ? "en" : "zh");
}

/** What was chosen last, before the settings are there: no flash of the other. */
export function showKept(): void {
  const appearance = localStorage.getItem(KEY);
  const root = document.documentElement;
  if (appearance === "light" || appearance === "dark") root.dataset["theme"] = appearance;
  else delete root.dataset["theme"];
}

// Keys of the whole window: Cmd or Ctrl with a digit opens a panel, with a comma the settings.

import { PANELS, route } from "./route.svelte";

export function shortcut(event: KeyboardEvent): void {
  if (!(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return;
  const panel = event.key === "," ? "settings" : PANELS[Number(event.key) - 1];
  if (!panel) return;
  event.preventDefault();
  route.go(panel);
}

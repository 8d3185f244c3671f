import { render, screen } from "@testing-library/svelte";
import { afterEach, expect, test } from "vitest";

import type { Update } from "../../shell/desktop";
import Updates from "./Updates.svelte";

const none: Update = { words: "", is_looking: false, ready: null };
const looking: Update = { words: "Looking for a newer version", is_looking: true, ready: null };
const ready: Update = { words: "Tokbar 1.2.3 is ready.", is_looking: false, ready: { version: "1.2.3", notes: "Faster.\n<b>Smaller.</b>" } };

/** The app's window around the page: a look tells `looking`, `update` is answered in turn, with the last for ever. */
function shell(standings: Update[]): string[] {
  const asked: string[] = [];
  const invoke = (command: string) => {
    asked.push(command);
    if (command === "install_update") return Promise.resolve(null);
    if (command === "check_for_updates") return Promise.resolve(looking);
    return Promise.resolve(standings.length === 1 ? standings[0] : standings.shift());
  };
  Reflect.set(globalThis, "__TAURI__", { core: { invoke } });
  return asked;
}

afterEach(() => Reflect.deleteProperty(globalThis, "__TAURI__"));

test("nobody has looked, somebody looks, and what is found says what it brings", async () => {
  const asked = shell([none, looking, ready]);
  render(Updates);
  expect(await screen.findByText("Nobody has looked for a newer version yet.")).toBeTruthy();
  screen.getByRole("button", { name: "Check for updates" }).click();
  expect((await screen.findByText("Looking for a newer version")).getAttribute("role")).toBe("status");
  expect(await screen.findByRole("heading", { name: "Tokbar 1.2.3 is ready" }, { timeout: 3000 })).toBeTruthy();
  const notes = screen.getByText(/Faster/);
  expect(notes.textContent).toBe("Faster.\n<b>Smaller.</b>");
  screen.getByRole("button", { name: "Restart to update" }).click();
  expect(await screen.findByText(/starts anew as soon as/)).toBeTruthy();
  expect(asked).toContain("install_update");
});

test("why there is none is said in the app's words", async () => {
  shell([{ ...none, words: "Tokbar cannot be updated here: update it the way it was built" }]);
  render(Updates);
  expect(await screen.findByText(/update it the way it was built/)).toBeTruthy();
});

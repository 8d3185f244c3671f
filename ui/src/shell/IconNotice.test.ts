import { render, screen } from "@testing-library/svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import IconNotice from "./IconNotice.svelte";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  Reflect.deleteProperty(globalThis, "__TAURI__");
});

test("while the menu bar hides the icon it says how to get it there, and goes once it is seen", async () => {
  const asked: string[] = [];
  let isSeen = false;
  const invoke = (command: string) => {
    asked.push(command);
    return Promise.resolve(command === "about" ? { is_icon_seen: isSeen } : null);
  };
  Reflect.set(globalThis, "__TAURI__", { core: { invoke } });
  render(IconNotice);
  expect(screen.queryByRole("status"), "not before the icon had time to come").toBeNull();
  await vi.advanceTimersByTimeAsync(4000);
  expect(screen.getByRole("status").textContent).toContain("not in the menu bar");
  screen.getByRole("button", { name: "Open Menu Bar settings" }).click();
  expect(asked).toContain("open_menu_bar_settings");
  isSeen = true;
  await vi.advanceTimersByTimeAsync(4000);
  expect(screen.queryByRole("status")).toBeNull();
  const n = asked.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked.length, "a seen icon is asked about no more").toBe(n);
});

test("a browser has no icon to miss", async () => {
  render(IconNotice);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(screen.queryByRole("status")).toBeNull();
});

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, settled, steadily, test } from "./fixtures";

test("a newcomer: the recommendation over a line that breaks, a chat, a client, the end", async ({ page, newcomer: { server, hub } }) => {
  await page.goto(server.link);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("Why this one")).toBeVisible();
  const name = await page.getByRole("combobox", { name: "Another model" }).locator("option:checked").innerText();
  hub.hold(hub.nWeightBytes / 3);
  await page.getByRole("button", { name: "Download and start" }).click();
  await expect(page.getByRole("heading", { name: `Downloading ${name}` })).toBeVisible();
  await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", /^3\d$/);
  hub.breakOff();
  hub.open();
  await expect(page.getByRole("heading", { name: "Ready" })).toBeVisible();

  await page.getByRole("button", { name: "Open the chat" }).click();
  await steadily(page);
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("What is the capital of France?");
  await message.press("Enter");
  await expect(page.getByRole("article").nth(1)).toContainText("Paris");

  await page.getByRole("link", { name: "Connect" }).click();
  await settled(page);
  await page.getByRole("button", { name: "Connect… Codex" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("config.toml");
  const path = join(server.home, ".codex/config.toml");
  expect(existsSync(path), "nothing is written before it was seen").toBe(false);
  await dialog.getByRole("button", { name: "Apply" }).click();
  await expect(page.getByRole("paragraph").filter({ hasText: "Codex is connected" })).toBeVisible();
  expect(readFileSync(path, "utf8")).toContain(`${server.origin.replace("127.0.0.1", "localhost")}/v1`);
  await page.getByRole("button", { name: "Test Codex" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "Codex" }).getByRole("status")).toContainText(/ in /);
  await page.getByRole("button", { name: "Disconnect Codex" }).click();
  await expect(page.getByRole("paragraph").filter({ hasText: "Codex is as before" })).toBeVisible();

  expect(await server.end(), "it ends by itself").toBe(0);
  await expect(page.getByText("Not reachable")).toBeVisible();
});

import type { Page } from "@playwright/test";

import type { Settings, SettingsAnswer } from "../../src/lib/control";
import { expect, open, seriousFaults, settled, test } from "./fixtures";
import { MODEL, type Server } from "./server";

async function fill(page: Page, name: string, value: string): Promise<void> {
  const field = page.getByRole("textbox", { name, exact: true });
  await field.fill(value);
  await field.press("Enter");
}

const settingsOf = async (server: Server): Promise<Settings> => (await server.get<SettingsAnswer>("settings")).settings;

test("what waits for the next start is said, and is kept over it: port, origins, memory, drafts, cache", async ({ page, ownServer }) => {
  const { server } = ownServer;
  await open(page, server, "settings");
  await settled(page);
  await fill(page, "Port", "8765");
  await fill(page, "Web pages that may call", "https://app.example");
  await fill(page, "Calls a minute for each client", "5");
  await fill(page, "Unload after idle", "12");
  await fill(page, "Memory for models", "3");
  await fill(page, "Requests at once", "3");
  await page.getByRole("combobox", { name: "KV cache" }).selectOption("8");
  await page.getByRole("combobox", { name: "Drafts" }).selectOption("off");
  await fill(page, "At most", "1.5");
  await fill(page, "Leave free", "2.5");
  await fill(page, "Folder", `${server.home}/kept`);
  await expect(page.getByRole("status").filter({ hasText: "next start of the app" })).toContainText("Port");
  await expect.poll(async () => (await settingsOf(server)).cache.dir).toBe(`${server.home}/kept`);
  expect(await seriousFaults(page)).toEqual([]);

  ownServer.server = await server.again();
  const { settings } = await ownServer.server.get<SettingsAnswer>("settings");
  expect(settings.server).toMatchObject({ port: 8765, allowed_origins: ["https://app.example"], calls_per_minute: 5 });
  expect(settings.models).toMatchObject({ idle_timeout_min: 12, memory_budget_bytes: 3e9, max_rows: 3, kv_bits: 8, speculation: "off" });
  expect(settings.cache).toMatchObject({ dir: `${server.home}/kept`, max_bytes: 1.5e9, reserve_bytes: 2.5e9 });
  await open(page, ownServer.server, "settings");
  await settled(page);
  await expect(page.getByRole("textbox", { name: "Port", exact: true })).toHaveValue("8765");
  await expect(page.getByRole("status").filter({ hasText: "next start of the app" })).toHaveCount(0);
});

test("what is set counts at once: keys, folders, look, wakefulness, cloud, the model to start with", async ({ page, ownServer }) => {
  const { server } = ownServer;
  await open(page, server, "settings");
  await settled(page);
  await fill(page, "Name of the new key", "laptop");
  const dialog = page.getByRole("dialog", { name: "The key laptop" });
  const secret = await dialog.locator("code").innerText();
  expect(await seriousFaults(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Close" }).click();
  const status = async () => (await fetch(`${server.origin}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status;
  expect(await status()).toBe(200);
  await page.getByRole("button", { name: "Remove the key laptop" }).click();
  await expect(page.getByText("No keys.")).toBeVisible();

  await fill(page, "Add a folder", server.home);
  await expect(page.getByText(server.home, { exact: true })).toBeVisible();
  await page.getByRole("button", { name: `Forget ${server.home}` }).click();
  await expect(page.getByText(server.home, { exact: true })).toHaveCount(0);
  await fill(page, "Add a folder", "/nowhere/at-all");
  await expect(page.getByText(/nowhere\/at-all/).first()).toBeVisible();

  await page.getByRole("switch", { name: "Keep the Mac awake while it answers" }).click();
  await expect.poll(async () => (await settingsOf(server)).power.stay_awake).toBe(false);
  await page.getByRole("switch", { name: "Load a model when Tokbar starts" }).click();
  await page.getByRole("combobox", { name: "Model to start with" }).selectOption(MODEL);
  await expect.poll(async () => (await settingsOf(server)).start.model).toBe(MODEL);

  await page.getByRole("switch", { name: "Send long prompts to a cloud model" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "cloud.base_url" })).toBeVisible();
  await fill(page, "Address", "https://cloud.example/v1");
  await fill(page, "Cloud model", "large");
  await page.getByRole("switch", { name: "Send long prompts to a cloud model" }).click();
  await fill(page, "From prompts of", "9000");
  await expect.poll(async () => (await settingsOf(server)).cloud).toMatchObject({ is_on: true, model: "large", threshold_tokens: 9000 });

  await page.getByRole("combobox", { name: "Its key" }).selectOption("From the keychain");
  await expect(page.getByText("No key yet")).toBeVisible();
  const key = page.getByLabel("New key of the cloud");
  await key.fill("has spaces in it");
  await key.press("Enter");
  await expect(page.getByText(/no spaces/).first()).toBeVisible();
  await key.fill("sky-key");
  await key.press("Enter");
  await expect(page.getByText("A key is kept")).toBeVisible();
  expect(await page.content(), "what went in does not come out").not.toContain("sky-key");
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Forget", exact: true }).click();
  await expect(page.getByText("No key yet")).toBeVisible();

  await page.getByRole("radio", { name: "Everybody" }).check({ force: true });
  await page.getByRole("dialog", { name: "Let everybody" }).getByRole("button", { name: "Cancel" }).click();
  expect((await settingsOf(server)).server.lan).toBe("off");
  await page.getByRole("radio", { name: "With a key" }).check({ force: true });
  await expect.poll(async () => (await settingsOf(server)).server.lan).toBe("with_key");
});

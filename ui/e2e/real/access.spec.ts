import { expect, open, seriousFaults, settled, test } from "./fixtures";
import { MODEL } from "./server";

test("the token leaves the address bar and stays out of the page", async ({ page, loaded }) => {
  await page.goto(loaded.link);
  await settled(page);
  expect(page.url()).not.toContain("token");
  expect(await page.content()).not.toContain(loaded.token);
});

test("without the link nothing is told, and it says what to do", async ({ page, loaded }) => {
  await page.goto(`${loaded.origin}/`);
  await expect(page.getByRole("alert")).toContainText("Open this page from Tokbar");
  expect(await seriousFaults(page)).toEqual([]);
});

test("keys alone reach everything", async ({ page, loaded }) => {
  await open(page, loaded, "now");
  await settled(page);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Skip to content" })).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Now" })).toBeFocused();
  for (let idx = 0; idx < 6; idx++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeFocused();
  await settled(page);

  const dark = page.getByRole("radio", { name: "Dark" });
  await page.getByRole("radio", { name: "System" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(dark).toBeChecked();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByRole("radio", { name: "System" }).check({ force: true });
  await expect(page.locator("html")).not.toHaveAttribute("data-theme");

  const awake = page.getByRole("switch", { name: "Keep the Mac awake while it answers" });
  const before = await awake.getAttribute("aria-checked");
  await awake.focus();
  await page.keyboard.press("Space");
  await expect(awake).not.toHaveAttribute("aria-checked", before ?? "");
  await page.keyboard.press("Space");
  await expect(awake).toHaveAttribute("aria-checked", before ?? "");
});

test("Ctrl with a digit opens a panel, and a dialog gives the focus back", async ({ page, loaded }) => {
  await open(page, loaded, "now");
  await settled(page);
  await page.keyboard.press("Control+2");
  await expect(page.getByRole("heading", { level: 1, name: "Models" })).toBeFocused();
  const button = page.getByRole("button", { name: "Import…" });
  await button.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Import a model" });
  await expect(dialog).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(button).toBeFocused();
});

test("another language is spoken at once", async ({ page, loaded }) => {
  await open(page, loaded, "settings");
  await settled(page);
  await page.getByRole("combobox", { name: "Language" }).selectOption("zh-Hans");
  await expect(page.getByRole("heading", { level: 1, name: "设置" })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("combobox", { name: "语言" }).selectOption("system");
  await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
});

test("a wrong value is refused at its field, in the server's words", async ({ page, loaded }) => {
  await open(page, loaded, "settings");
  await settled(page);
  const port = page.getByRole("textbox", { name: "Port" });
  await port.fill("99999999");
  await port.press("Enter");
  await expect(page.getByRole("alert").first()).toBeVisible();
  await expect(port).toHaveAttribute("aria-invalid", "true");
});

test("rows of the menu open their client and their model", async ({ page, loaded }) => {
  await open(page, loaded, "connect/codex");
  const dialog = page.getByRole("dialog", { name: "Connect Codex" });
  await expect(dialog).toContainText("config.toml");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  expect(new URL(page.url()).hash).toBe("#/connect");
  await page.goto(`${loaded.origin}/#/models/${encodeURIComponent(MODEL)}`);
  await expect(page.getByRole("heading", { name: "Detected" })).toBeVisible();
});

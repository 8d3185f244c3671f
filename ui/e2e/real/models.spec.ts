import { expect, open, seriousFaults, settled, test } from "./fixtures";

test("a model is stopped and started, pinned and looked into", async ({ page, loaded }) => {
  await open(page, loaded, "models");
  await settled(page);
  const row = page.getByRole("listitem").filter({ hasText: "SmolLM2-135M-Instruct" }).first();
  await row.getByRole("button", { name: /^Stop/ }).click();
  await expect(row.getByRole("button", { name: /^Start/ })).toBeVisible();
  await row.getByRole("button", { name: /^Start/ }).click();
  await expect(row.getByRole("button", { name: /^Stop/ })).toBeVisible();

  await row.getByRole("link").click();
  await expect(page.getByRole("heading", { name: "Detected" })).toBeVisible();
  await expect(page.getByRole("table")).toContainText("4k");
  const context = page.getByRole("textbox", { name: "Longest context" });
  await context.fill("2048");
  await context.press("Enter");
  await expect(page.getByText("Saved; used from the next start on").first()).toBeVisible();
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Delete…" }).click();
  await expect(page.getByRole("dialog")).toContainText("SmolLM2");
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("what nothing matches says so, and that the Hub is not reachable", async ({ page, loaded }) => {
  await open(page, loaded, "models");
  await settled(page);
  await page.getByRole("searchbox").fill("no such model anywhere");
  await expect(page.getByRole("region", { name: "On the Hub" })).toContainText(/not reachable|Nothing found|Hub/);
});

test("an import that cannot be says why", async ({ page, loaded }) => {
  await open(page, loaded, "models");
  await settled(page);
  await page.getByRole("button", { name: "Import…" }).click();
  await page.getByRole("textbox", { name: "Path" }).fill("/nowhere/at-all.gguf");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("/nowhere/at-all.gguf");
});

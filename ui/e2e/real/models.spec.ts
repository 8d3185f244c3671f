import { basename } from "node:path";

import { expect, open, seriousFaults, settled, test } from "./fixtures";

/** The file that the test model was made of lies beside it. */
const GGUF = `${process.env["TOKBAR_MODEL"]}.Q4_1.gguf`;

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

test("a GGUF file that is dropped on the window is imported, until that is given up", async ({ page, ownServer: { server } }) => {
  await open(page, server, "models");
  await settled(page);
  // The app's window tells the page where a dropped file lies.
  await page.evaluate((path) => window.dispatchEvent(new CustomEvent("tokbar:drop", { detail: path })), GGUF);
  const dialog = page.getByRole("dialog", { name: "Import a model" });
  await expect(dialog.getByRole("textbox", { name: "Path" })).toHaveValue(GGUF);
  await dialog.getByRole("button", { name: "Import", exact: true }).click();
  await expect(dialog).toHaveCount(0);
  const row = page.getByRole("listitem").filter({ hasText: basename(GGUF, ".gguf") }).first();
  await expect(row.getByRole("progressbar")).toBeVisible();
  await row.getByRole("button", { name: /^Cancel/ }).click();
  await expect(row).toHaveCount(0);
});

test("an import that cannot be says why", async ({ page, loaded }) => {
  await open(page, loaded, "models");
  await settled(page);
  await page.getByRole("button", { name: "Import…" }).click();
  await page.getByRole("textbox", { name: "Path" }).fill("/nowhere/at-all.gguf");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("/nowhere/at-all.gguf");
});

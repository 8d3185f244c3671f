import type { Page } from "@playwright/test";

import { expect, open, seriousFaults, settled, test } from "./fixtures";
import { Hub } from "./hub";

const rowOf = (page: Page, name: string) => page.getByRole("listitem").filter({ hasText: name }).first();

async function get(page: Page, words: string): Promise<void> {
  await page.getByRole("searchbox").fill(words);
  await page.getByRole("region", { name: "On the Hub" }).getByRole("button", { name: `Get ${Hub.FOUND}` }).click();
  await page.getByRole("searchbox").fill("");
}

test("a model found on the Hub comes, pauses, goes on after a reload, and is there", async ({ page, shopping: { server, hub } }) => {
  await open(page, server, "models");
  await settled(page);
  hub.hold(hub.nWeightBytes / 2);
  await get(page, "found");
  const row = rowOf(page, "found-by-search");
  const part = row.getByRole("progressbar");
  await expect(part).toHaveAttribute("aria-valuenow", /^(4|5)\d$/);
  await expect(row).toContainText(/\d+ MB of 1\d\d MB|\d+ MB of 9\d MB/);
  expect(await seriousFaults(page)).toEqual([]);

  await row.getByRole("button", { name: /^Pause/ }).click();
  await expect(row).toContainText("Paused");
  await expect.poll(() => hub.nOpen).toBe(0);
  await page.reload();
  await expect(row).toContainText("Paused");
  const nBefore = hub.nSent;
  await row.getByRole("button", { name: /^Resume/ }).click();
  await expect(row.getByRole("button", { name: /^Pause/ })).toBeVisible();
  hub.open();
  await expect(row.getByRole("button", { name: /^Start/ })).toBeVisible();
  // It went on from where it was: what had come did not come again.
  expect(hub.nSent - nBefore).toBeLessThan(0.75 * hub.nWeightBytes);
});

test("a download that is given up leaves nothing, one that fails says why and can go on", async ({ page, shopping: { server, hub } }) => {
  await server.post("models/delete", { model: Hub.FOUND, consent: true }).catch(() => undefined);
  await open(page, server, "models");
  await settled(page);
  hub.hold(hub.nWeightBytes / 4);
  await get(page, "found");
  const row = rowOf(page, "found-by-search");
  await expect(row.getByRole("progressbar")).toHaveAttribute("aria-valuenow", /^2\d$/);
  await row.getByRole("button", { name: /^Cancel the download/ }).click();
  await expect(row).toHaveCount(0);
  await expect.poll(() => hub.nOpen).toBe(0);

  hub.open();
  hub.isGone = true;
  await get(page, "found");
  await expect(row).toContainText("Failed");
  await expect(row.getByRole("alert")).toContainText("listed but not there");
  expect(await seriousFaults(page)).toEqual([]);
  hub.isGone = false;
  await row.getByRole("button", { name: /^Resume/ }).click();
  await expect(row.getByRole("button", { name: /^Start/ })).toBeVisible();

  await row.getByRole("link").click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await expect(page.getByRole("dialog")).toContainText(/\d+ MB/);
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("paragraph").filter({ hasText: /^Deleted; .* free again$/ })).toBeVisible();
  await expect(row).toHaveCount(0);
});

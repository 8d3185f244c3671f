import { readFileSync } from "node:fs";

import { expect, open, seriousFaults, settled, test } from "./fixtures";

test("a run is measured, drawn and exported; another is broken off", async ({ page, loaded }) => {
  // It measures as long as the machine needs.
  test.setTimeout(900_000);
  await open(page, loaded, "bench");
  await settled(page);
  await page.getByRole("combobox", { name: "Suite" }).selectOption("Speed");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("progressbar")).toBeVisible();
  expect(await seriousFaults(page), "while it runs").toEqual([]);
  const row = page.getByRole("row").nth(1);
  await expect(row).toContainText("done", { timeout: 800_000 });
  const chart = page.getByRole("img", { name: "short prompt, decode over runs" });
  await expect(chart).toHaveAttribute("aria-label", /tok\/s/);

  for (const form of ["JSON", "CSV"]) {
    const saved = page.waitForEvent("download");
    await row.getByRole("button", { name: new RegExp(`as ${form}$`) }).click();
    const text = readFileSync(await (await saved).path(), "utf8");
    expect(text).toMatch(/decode/i);
    if (form === "JSON") expect(() => JSON.parse(text)).not.toThrow();
  }

  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(row).toContainText("cancelled");
  await page.reload();
  await expect(page.getByRole("row")).toHaveCount(3);
  expect(await seriousFaults(page), "with runs").toEqual([]);
});

import { expect, open, seriousFaults, settled, test } from "./fixtures";

const PANELS = ["now", "models", "chat", "connect", "bench", "logs", "settings", "about"];

for (const panel of PANELS) {
  test(`${panel} is full, in light and dark, and at 200 %`, async ({ page, loaded }) => {
    await open(page, loaded, panel);
    await settled(page);
    await expect(page.getByRole("alert")).toHaveCount(0);
    expect(await seriousFaults(page), "light").toEqual([]);
    await page.emulateMedia({ colorScheme: "dark", contrast: "more", reducedMotion: "reduce" });
    expect(await seriousFaults(page), "dark, more contrast").toEqual([]);
    // A window of this size at 200 % has half the pixels.
    await page.setViewportSize({ width: 460, height: 300 });
    const [content, view] = await page.evaluate(() => [document.querySelector("main")?.scrollWidth ?? 0, document.querySelector("main")?.clientWidth ?? 0]);
    expect(content, "nothing sticks out").toBeLessThanOrEqual(view ?? 0);
    expect(await seriousFaults(page), "200 %").toEqual([]);
  });

  test(`${panel} without models`, async ({ page, empty }) => {
    await open(page, empty, panel);
    await settled(page);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test(`${panel} while it loads, and when nothing answers`, async ({ page, loaded }) => {
    let openGate = () => {};
    const gate = new Promise<void>((resolve) => (openGate = resolve));
    await open(page, loaded, "now");
    await page.route("**/control/v1/**", async (route) => {
      await gate;
      await route.abort();
    });
    await page.goto(`${loaded.origin}/#/${panel}`);
    await page.reload();
    await expect(page.locator("[aria-busy=true]").first()).toBeVisible();
    expect(await seriousFaults(page), "loading").toEqual([]);
    openGate();
    const alert = page.getByRole("alert").first();
    await expect(alert).toBeVisible();
    await expect(page.getByRole("button", { name: "Try again" }).first()).toBeVisible();
    expect(await seriousFaults(page), "error").toEqual([]);
    await page.unroute("**/control/v1/**");
    const retries = page.getByRole("button", { name: "Try again" });
    // Each part of a panel has its own; one that works goes away, and some try by themselves.
    const press = async () => {
      if ((await retries.count()) > 0) await retries.first().click({ timeout: 1000 }).catch(() => undefined);
      return retries.count();
    };
    await expect.poll(press).toBe(0);
    await expect(alert).toBeHidden();
  });
}

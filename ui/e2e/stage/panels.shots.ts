import { test } from "@playwright/test";

import { conversations } from "./conversation";
import { stage } from "./stage";

const FOLDER = process.env["TOKBAR_SHOTS"] ?? "shots";
const PANELS = ["now", "models", "chat", "connect", "bench", "logs", "settings", "about"];
const LOOKS = [
  { name: "light", scheme: "light", language: "en" },
  { name: "dark", scheme: "dark", language: "en" },
  { name: "zh", scheme: "light", language: "zh" },
] as const;

test.beforeEach(async ({ page }) => {
  await stage(page);
  await page.goto("/#token=stage");
  await page.evaluate(async (all) => {
    localStorage.setItem("tokbar.welcomed", "1");
    const database = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open("tokbar", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("conversations", { keyPath: "id" });
      request.onsuccess = () => resolve(request.result);
    });
    const store = database.transaction("conversations", "readwrite").objectStore("conversations");
    for (const one of all) store.put(one);
    database.close();
  }, conversations);
});

for (const look of LOOKS) {
  for (const panel of [...PANELS, "models/detail", "connect/plan", "welcome"]) {
    test(`${panel} ${look.name}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: look.scheme, reducedMotion: "reduce" });
      await page.evaluate(([language, isWelcome]) => {
        localStorage.setItem("tokbar.language", language as string);
        if (isWelcome) localStorage.removeItem("tokbar.welcomed");
      }, [look.language, panel === "welcome"]);
      if (panel === "welcome") await page.route("**/control/v1/live*", (route) => route.abort());
      const hash = { "models/detail": "models/mlx-community%2FQwen3.5-9B-4bit", "connect/plan": "connect", chat: "chat/c1", welcome: "now" }[panel] ?? panel;
      await page.goto(`/#/${hash}`);
      await page.reload();
      await page.waitForTimeout(700);
      if (panel === "connect/plan") {
        await page.locator("li", { hasText: "Codex" }).getByRole("button").last().click();
        await page.waitForTimeout(300);
      }
      await page.screenshot({ path: `${FOLDER}/${panel.replace("/", "-")}-${look.name}.png` });
    });
  }
}

import { test } from "@playwright/test";

import { stage } from "./stage";

const FOLDER = process.env["TOKBAR_SHOTS"] ?? "shots";
/** Each picture and the address that it is of. */
const PICTURES = {
  now: "now",
  models: "models",
  "models-detail": "models/mlx-community%2FQwen3.5-9B-4bit",
  chat: "chat/c1",
  connect: "connect",
  "connect-plan": "connect",
  bench: "bench",
  logs: "logs",
  settings: "settings",
  about: "about",
  welcome: "now",
  "welcome-model": "now",
};
const LOOKS = [
  { name: "light", scheme: "light", language: "en" },
  { name: "dark", scheme: "dark", language: "en" },
  { name: "zh", scheme: "light", language: "zh-Hans" },
] as const;

for (const look of LOOKS) {
  for (const [name, address] of Object.entries(PICTURES)) {
    test(`${name} ${look.name}`, async ({ page }) => {
      const isNew = name.startsWith("welcome");
      await stage(page, { language: look.language, isNew });
      await page.emulateMedia({ colorScheme: look.scheme, reducedMotion: "reduce" });
      await page.goto("/#token=stage");
      await page.evaluate((seen) => (seen ? localStorage.setItem("tokbar.welcomed", "1") : localStorage.removeItem("tokbar.welcomed")), !isNew);
      await page.goto(`/#/${address}`);
      await page.reload();
      await page.locator("h1").first().waitFor();
      if (name === "connect-plan") await page.locator("li", { hasText: "Codex" }).getByRole("button").last().click();
      if (name === "welcome-model") await page.locator("main button").first().click();
      // What is fetched is there once nothing is busy.
      await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
      await page.screenshot({ path: `${FOLDER}/${name}-${look.name}.png`, animations: "disabled" });
    });
  }
}

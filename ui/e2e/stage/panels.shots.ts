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
  "now-tool": "now",
  settings: "settings",
  "settings-middle": "settings",
  "settings-end": "settings",
  about: "about",
  "about-update": "about",
  welcome: "now",
  "welcome-model": "now",
};
const LOOKS = [
  { name: "light", scheme: "light", language: "en" },
  { name: "dark", scheme: "dark", language: "en" },
  { name: "zh", scheme: "light", language: "zh-Hans" },
  // A window of the usual size at 200 % has half the pixels.
  { name: "200", scheme: "light", language: "en", viewport: { width: 460, height: 300 } },
] as const;

for (const look of LOOKS) {
  for (const [name, address] of Object.entries(PICTURES)) {
    test(`${name} ${look.name}`, async ({ page }) => {
      const isNew = name.startsWith("welcome");
      await stage(page, { language: look.language, isNew, isAsked: name === "now-tool", isApp: name === "about-update" });
      if ("viewport" in look) await page.setViewportSize(look.viewport);
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
      const part = { "settings-middle": 0.5, "settings-end": 1 }[name];
      if (part !== undefined) await page.locator("main").evaluate((main, part) => main.scrollTo(0, part * (main.scrollHeight - main.clientHeight)), part);
      if (name === "now-tool") await page.locator("main section pre").waitFor();
      await page.screenshot({ path: `${FOLDER}/${name}-${look.name}.png`, animations: "disabled" });
    });
  }
}

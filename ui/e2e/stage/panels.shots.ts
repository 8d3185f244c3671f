import { test } from "@playwright/test";

import { conversations } from "./conversation";
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
      await page.evaluate(keep, { conversations, isNew });
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

async function keep(given: { conversations: { id: string }[]; isNew: boolean }): Promise<void> {
  if (given.isNew) localStorage.removeItem("tokbar.welcomed");
  else localStorage.setItem("tokbar.welcomed", "1");
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = indexedDB.open("tokbar", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("conversations", { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
  });
  const transaction = database.transaction("conversations", "readwrite");
  for (const one of given.conversations) transaction.objectStore("conversations").put(one);
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  database.close();
}

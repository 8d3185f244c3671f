import { defineConfig } from "@playwright/test";

import real from "./playwright.config";

process.env["TOKBAR_MODEL_OWNER"] = "HuggingFaceTB";

/** The pictures of the README, of the real server: `cargo xtask screenshots --readme`. */
export default defineConfig({
  ...real,
  testDir: "e2e/readme",
  testMatch: "*.shots.ts",
  timeout: 300_000,
  use: { ...real.use, viewport: { width: 920, height: 600 }, deviceScaleFactor: 1.5 },
});

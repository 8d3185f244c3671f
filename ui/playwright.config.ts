import { defineConfig } from "@playwright/test";

/** Whole pages before the real server: `cargo xtask test` names the program and a small model. */
export default defineConfig({
  testDir: "e2e/real",
  outputDir: "test-results",
  workers: 1,
  retries: 0,
  // Only for what never comes: a model on a busy machine takes its time.
  timeout: 300_000,
  expect: { timeout: 120_000 },
  reporter: "line",
  use: {
    viewport: { width: 920, height: 600 },
    locale: "en-US",
    timezoneId: "UTC",
    trace: "off",
    screenshot: "only-on-failure",
    launchOptions: { executablePath: process.env["TOKBAR_CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
});

import { defineConfig } from "@playwright/test";

/** Pictures of every panel: `cargo xtask screenshots`. */
export default defineConfig({
  testDir: "e2e/stage",
  testMatch: "*.shots.ts",
  outputDir: "node_modules/.shots",
  workers: 2,
  fullyParallel: true,
  reporter: "line",
  use: {
    baseURL: "http://127.0.0.1:4631",
    viewport: { width: 920, height: 600 },
    deviceScaleFactor: 2,
    launchOptions: { executablePath: process.env["TOKBAR_CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
  },
  webServer: { command: "npx vite preview --port 4631 --strictPort --host 127.0.0.1", url: "http://127.0.0.1:4631", reuseExistingServer: true },
});

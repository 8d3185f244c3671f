import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  // The page is served from the program's own address, or from inside the app: no absolute paths.
  base: "./",
  build: {
    target: "safari17.5",
    // A strict policy lets nothing inline run.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // While you work on the UI: `tokbar serve MODEL` beside it answers.
  server: { proxy: { "/control": "http://127.0.0.1:8000", "/v1": "http://127.0.0.1:8000", "/health": "http://127.0.0.1:8000" } },
});

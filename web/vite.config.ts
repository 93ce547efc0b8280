import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Built into the package, under names that do not change, so that a build can be compared with the one that is committed. */
export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../apps/server/page",
    emptyOutDir: true,
    // All that a page needs comes from its own server, and its policy allows no script in the page itself.
    modulePreload: false,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    // size.mjs weighs what comes out, as it goes over the line.
    chunkSizeWarningLimit: 1000,
    // What is built in is handed on, and so are its licences.
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      output: {
        entryFileNames: "page.js",
        chunkFileNames: "[name].js",
        assetFileNames: (asset) =>
          asset.names[0]?.endsWith(".woff2") ? "inter.woff2" : "page[extname]",
      },
    },
  },
  server: { proxy: { "/api": "http://127.0.0.1:8400" } },
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    // A busy machine takes its time.
    testTimeout: 60_000,
  },
});

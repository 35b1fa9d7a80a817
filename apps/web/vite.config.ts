import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressAssets } from "./compress-assets.ts";
import { emitPagePaths } from "./emit-page-paths.ts";

const api = "http://127.0.0.1:4000";

export default defineConfig({
  plugins: [react(), emitPagePaths(), compressAssets()],
  build: {
    rolldownOptions: {
      input: ["index.html", "docs.html", "docs-errors.html"],
      output: {
        // One file per shared module made a page load 68 files and 441 kB; with these two, it loads 17 files and 380 kB,
        // because larger files compress better. The reference page's libraries are a megabyte and stay apart.
        codeSplitting: {
          groups: [
            { name: "libraries", test: /node_modules\/(?!.*(@scalar|vue|shiki|highlight))/ },
            { name: "shared", test: /apps\/web\/src\/(app|ui|server)\// },
          ],
        },
      },
    },
    target: "baseline-widely-available",
    // The content security policy lets no `data:` font or script in, so that every asset is a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/trpc": api, "/open": api, "/openapi.json": api, "/docs": api, "/assets": api } },
});

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
        // With one file per shared module, a page loaded 68 files and 441 kB. With these two
        // groups, it loads 17 files and 380 kB, because larger files compress better. The groups
        // exclude the reference page's libraries, 1 MB.
        codeSplitting: {
          groups: [
            { name: "libraries", test: /node_modules\/(?!.*(@scalar|vue|shiki|highlight))/ },
            { name: "shared", test: /apps\/web\/src\/(app|ui|server)\// },
          ],
        },
      },
    },
    target: "baseline-widely-available",
    // The content security policy blocks `data:` fonts and scripts, so every asset must be a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/trpc": api, "/open": api, "/openapi.json": api, "/docs": api, "/assets": api } },
});

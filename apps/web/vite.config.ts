import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressAssets } from "./compress-assets.ts";
import { emitPagePaths } from "./emit-page-paths.ts";

const api = "http://127.0.0.1:4000";

export default defineConfig({
  plugins: [react(), emitPagePaths(), compressAssets()],
  build: {
    rolldownOptions: { input: ["index.html", "docs.html", "docs-errors.html"] },
    target: "baseline-widely-available",
    // The content security policy lets no `data:` font or script in, so that every asset is a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/trpc": api, "/open": api, "/openapi.json": api, "/docs": api, "/assets": api } },
});

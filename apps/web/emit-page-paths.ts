import type { Plugin } from "vite";
import { pagePaths } from "./src/app/page-paths.ts";

/** Writes the list of page paths into the build as `page-paths.json`, for the server. */
export function emitPagePaths(): Plugin {
  return {
    name: "latchkey:emit-page-paths",
    apply: "build",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "page-paths.json", source: JSON.stringify(pagePaths) });
    },
  };
}

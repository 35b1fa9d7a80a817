import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { compressAssets } from "./compress-assets.ts";
import { emitPagePaths } from "./emit-page-paths.ts";

/** Libraries of the API reference, 1 MB. */
const referenceLibraries = /@scalar|vue|shiki|highlight/;
/** Libraries of dialogs, which load when the first dialog opens. */
const dialogLibraries =
  /@mantine\/core\/.*\/(Drawer|Modal|ModalBase|PasswordInput)\/|react-remove-scroll|react-style-singleton|use-sidecar|use-callback-ref|tslib|get-nonce/;
const formLibraries = /@mantine\/form|@mantine\/core\/.*\/Textarea\/|klona|fast-deep-equal/;

function isFirstLibrary(path: string): boolean {
  const others = [referenceLibraries, dialogLibraries, formLibraries];
  return path.includes("node_modules") && !others.some((libraries) => libraries.test(path));
}

const api = "http://127.0.0.1:4000";

export default defineConfig({
  plugins: [react(), emitPagePaths(), compressAssets()],
  build: {
    rolldownOptions: {
      input: ["index.html", "docs.html", "docs-errors.html"],
      output: {
        // With one file per shared module, a page loaded 68 files and 441 kB. With these two
        // groups, it loads 14 files and 300 kB, because larger files compress better.
        codeSplitting: {
          groups: [
            { name: "libraries", test: isFirstLibrary },
            {
              name: "shared",
              test: /apps\/web\/src\/(app|ui|server)\/(?!.*(chart|dialog|drawer|palette|secret-field))/,
            },
            { name: "forms", test: formLibraries },
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

import { enableCompileCache } from "node:module";
import { join } from "node:path";

/**
 * Caches the compiled form of every module that this process imports after this call. The next start then takes 1.5 s
 * of processor time instead of 2.5 s. The cache is stored with the dependencies, because other users of the machine
 * could write to a temporary directory.
 */
export function cacheCompiledModules(): void {
  enableCompileCache(join(import.meta.dirname, "../../../node_modules/.cache/latchkey"));
}

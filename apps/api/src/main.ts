import { cacheCompiledModules } from "./compile-cache.js";

cacheCompiledModules();
const { runNode } = await import("./run-node.ts");
await runNode();

import { cacheCompiledModules } from "./compile-cache.ts";

cacheCompiledModules();
const { runNode } = await import("./run-node.ts");
await runNode();

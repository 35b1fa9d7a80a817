import { keepCompiledModules } from "./compile-cache.ts";

keepCompiledModules();
const { runNode } = await import("./run-node.ts");
await runNode();

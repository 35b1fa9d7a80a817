#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { join } from "node:path";

// Compiled modules are kept with the dependencies, not in a directory that other users of the machine can write to.
enableCompileCache(join(import.meta.dirname, "../../../../node_modules/.cache/latchkey"));
const { runProcess } = await import("./run-process.ts");
await runProcess();

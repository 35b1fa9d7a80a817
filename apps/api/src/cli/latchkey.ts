#!/usr/bin/env node
import { cacheCompiledModules } from "../compile-cache.ts";

cacheCompiledModules();
const { runProcess } = await import("./run-process.ts");
await runProcess();

#!/usr/bin/env node
// JavaScript, because Node would load its TypeScript compiler for this file. It takes the types of all other files from the cache,
// so that the compiler isn't loaded. That saves 0.05 s of processor time per call.
import { cacheCompiledModules } from "../compile-cache.js";

cacheCompiledModules();
const { runProcess } = await import("./run-process.ts");
await runProcess();

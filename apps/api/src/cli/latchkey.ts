#!/usr/bin/env node
import { keepCompiledModules } from "../compile-cache.ts";

keepCompiledModules();
const { runProcess } = await import("./run-process.ts");
await runProcess();

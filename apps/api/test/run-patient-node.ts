import { cacheCompiledModules } from "../src/compile-cache.ts";

// Runs a node like `src/main.ts`, with the deadlines of tests that aren't about deadlines.

cacheCompiledModules();
const { runNode } = await import("../src/run-node.ts");
const { patientDeadlines } = await import("./patient-deadlines.ts");
await runNode(patientDeadlines);

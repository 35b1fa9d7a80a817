import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../support/product.ts";
import { composeReport } from "./report/report.ts";
import { runBenchmark } from "./run-benchmark.ts";
import { prepareSubjects, subjectNames } from "./subjects.ts";

// `pnpm bench`: compares admission with alternatives, and writes docs/benchmarks.md.

const document = "benchmarks.md";

await runBenchmark({
  command: "pnpm bench",
  subjects: subjectNames,
  quickSubjects: ["node:http", "koa", "latchkey:one", "latchkey:many"],
  connections: "1,64,256",
  rounds: 7,
  memoryRequests: 1_000_000,
  memorySubject: "latchkey:many",
  prepare: prepareSubjects,
  document,
  compose: async (results) => composeReport(results) + (await readPagesSection()),
});

/** The last section of docs/benchmarks.md, which `pnpm bench:pages` and `pnpm bench:demo` are the source of. */
async function readPagesSection(): Promise<string> {
  const text = await readFile(join(projectRoot, "docs", document), "utf8");
  const start = text.indexOf("\n## Pages of the web app\n");
  if (start < 0) throw new Error("docs/benchmarks.md has no section on pages.");
  return text.slice(start);
}

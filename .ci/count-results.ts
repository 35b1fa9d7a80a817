import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The part of Vitest's JSON report that counts. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  /** False too where a file could not be loaded, so that none of its tests ran. */
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    /** Why the file could not be loaded; empty where it could. */
    readonly message: string;
    readonly assertionResults: readonly TestResult[];
  }[];
}

interface TestResult {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

/** The most lines that are printed of one failure: a property's message has its counterexample below the first line. */
const maxLines = 15;

const root = join(import.meta.dirname, "..");
/** Every package that has tests leaves a report; one that is missing means tests that did not run. */
const packages = globSync("{apps,packages}/*/vitest.config.ts", { cwd: root }).map((path) =>
  join(path, ".."),
);
const expected = [
  ...packages.map((path) => join(path, ".results/tests.json")),
  "tests/.results/tests.json",
  "tests/.results/system.json",
];

let passed = 0;
let failed = 0;
for (const path of expected) {
  const report = readReport(join(root, path));
  const broken = report ? report.numFailedTests + report.numPendingTests + report.numTodoTests : 0;
  passed += report?.numPassedTests ?? 0;
  failed += report && (report.success || broken > 0) ? broken : 1;
  const outcome = report ? `${report.numPassedTests} passed, ${broken} failed` : "no report";
  process.stdout.write(`${path}: ${outcome}\n`);
  for (const failure of report ? listFailures(report) : []) process.stdout.write(`  ${failure}\n`);
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

/** A text for each test that did not pass, and each file that was not loaded. */
function listFailures(report: Report): string[] {
  return report.testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(root, name);
    const failures = assertionResults
      .filter(({ status }) => status !== "passed")
      .map(
        ({ fullName, status, failureMessages }) =>
          `${file} > ${fullName}: ${shorten(failureMessages[0] ?? status)}`,
      );
    return message === "" ? failures : [`${file}: ${shorten(message)}`, ...failures];
  });
}

function shorten(text: string): string {
  return text
    .split("\n", maxLines)
    .map((line) => line.slice(0, 1_000))
    .join("\n    ");
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Report; // Vitest wrote it.
  } catch {
    return undefined;
  }
}

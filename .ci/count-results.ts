import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The part of Vitest's JSON report that is used. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  /** Also false if a test file failed to load, so that none of its tests ran. */
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    /** Why the file failed to load; empty if it loaded. */
    readonly message: string;
    readonly assertionResults: readonly TestResult[];
  }[];
}

interface TestResult {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

/** The maximum number of lines per failure. The message of a property-based test has its counterexample after line 1. */
const maxLines = 15;

const root = join(import.meta.dirname, "..");
/** Every package with tests writes a report, so a missing report means that tests didn't run. */
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

/** A text for each failed test, and each test file that failed to load. */
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
    return JSON.parse(readFileSync(path, "utf8")) as Report; // Written by Vitest.
  } catch {
    return undefined;
  }
}

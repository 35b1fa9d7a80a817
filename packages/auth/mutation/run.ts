import { relative } from "node:path";
import { Stryker } from "@stryker-mutator/core";
import config from "./stryker.config.json" with { type: "json" };

// Runs the mutation tests of the modules that are named as arguments, or of all in the configuration. Stryker compares
// only the total with its threshold, so a small module could lose all of its tests unnoticed.

const { break: minPercent } = config.thresholds;
/** About three times as long as all modules take on two busy processors. */
const deadlineMs = 70 * 60_000;

setTimeout(() => {
  process.stderr.write(`The mutation tests didn't end within ${deadlineMs / 60_000} minutes.\n`);
  process.exit(1);
}, deadlineMs).unref();

/** As the configuration and Stryker's results name them: `./src/ip-ranges.ts` is `src/ip-ranges.ts`. */
const modules = process.argv.slice(2).map((module) => relative(process.cwd(), module));
const unknown = modules.filter((module) => !config.mutate.includes(module));
if (unknown.length > 0) {
  process.stderr.write(`${unknown.join(", ")}: not in "mutate" of mutation/stryker.config.json.\n`);
  process.exit(2);
}

const mutants = await new Stryker({
  configFile: "mutation/stryker.config.json",
  ...(modules.length > 0 ? { mutate: modules } : {}),
}).runMutationTest();

const mutated = new Set(mutants.map(({ fileName }) => relative(process.cwd(), fileName)));
for (const module of modules.length > 0 ? modules : config.mutate) {
  if (mutated.has(module)) continue;
  // Stryker ignores a module that was renamed or deleted.
  process.stderr.write(`${module}: no mutants were found. Check the name of the module.\n`);
  process.exitCode = 1;
}

for (const [file, ofFile] of Map.groupBy(mutants, ({ fileName }) => fileName)) {
  const detected = ofFile.filter(({ status }) => status === "Killed" || status === "Timeout").length;
  const missed = ofFile.filter(({ status }) => status === "Survived" || status === "NoCoverage").length;
  const percent = (100 * detected) / (detected + missed);
  if (percent >= minPercent) continue;
  process.stderr.write(
    `${relative(process.cwd(), file)}: ${percent.toFixed(1)}% of the mutants were detected. The minimum is ${minPercent}%.\n`,
  );
  process.exitCode = 1;
}

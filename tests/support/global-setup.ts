import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { env } from "../env.ts";
import { prepareData } from "./prepared-data.ts";
import { projectRoot } from "./product.ts";

const run = promisify(execFile);

/** The longest duration of a build on a busy machine, in milliseconds. */
const withinMs = 300_000;

/** Prepares what test files share. Returns a function that removes it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [{ dataDirectory, remove }] = await Promise.all([prepareData(), buildWebApp()]);
  project.provide("preparedData", dataDirectory);
  return remove;
}

/**
 * Builds the web app before tests that use it, so that they never run on outdated pages. Turbo does nothing if the
 * build is current. `turbo run test` builds it beforehand.
 */
async function buildWebApp(): Promise<void> {
  if (env.isRunByTurbo) return;
  const turbo = join(projectRoot, "node_modules/.bin/turbo");
  const build = ["run", "build", "--filter=@latchkey/web", "--output-logs=errors-only"];
  try {
    await run(turbo, build, { cwd: projectRoot, timeout: withinMs });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string }; // The program's output.
    throw new Error(`The web app could not be built:\n${stdout}${stderr}`, { cause: error });
  }
}

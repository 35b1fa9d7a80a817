import type { Writable } from "node:stream";
import type { Env } from "../env.ts";
import type { CommandIo } from "./command-io.ts";

/** Writes each warning for the operator, a sentence, as a line. */
export function writeWarnings(stderr: Writable, warnings: readonly string[]): void {
  for (const warning of warnings) stderr.write(`Warning: ${warning}\n`);
}

/**
 * Reads the environment, and writes its warnings before the database is opened: a misspelled variable can be the reason why there is
 * no database.
 * @throws {EnvError}
 */
export async function loadEnvWithWarnings({ loadEnv, stderr }: CommandIo): Promise<Env> {
  const env = await loadEnv();
  writeWarnings(stderr, env.warnings);
  return env;
}

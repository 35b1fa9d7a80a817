import { explainExit } from "./explain-exit.ts";
import { Interruption } from "./interruption.ts";
import { createProgram } from "./program.ts";

/**
 * Runs the command line of this process. An error is one line of JSON on standard error. A command that a signal
 * interrupted ends by that signal.
 */
export async function runProgram(): Promise<void> {
  try {
    await createProgram(async () => (await import("../env.ts")).readEnv()).parseAsync();
  } catch (thrown) {
    if (thrown instanceof Interruption) {
      process.kill(process.pid, thrown.signal);
      return;
    }
    const { status, error } = await explainExit(thrown);
    process.exitCode = status;
    if (error) process.stderr.write(`${JSON.stringify({ error })}\n`);
  }
}

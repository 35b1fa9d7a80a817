import type { CommandIo } from "./command-io.ts";
import { explainExit } from "./explain-exit.ts";
import { Interruption } from "./interruption.ts";
import { createProgram } from "./program.ts";

/**
 * Runs a command line and returns the exit status. An error is the last line on standard error, in JSON.
 * @param args without the names of Node and the program.
 * @throws {Interruption} when a signal ended the command.
 */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<0 | 1 | 2> {
  try {
    await createProgram(io).parseAsync(args, { from: "user" });
    return 0;
  } catch (thrown) {
    if (thrown instanceof Interruption) throw thrown;
    const { status, error } = await explainExit(thrown);
    if (error) io.stderr.write(`${JSON.stringify({ error })}\n`);
    return status;
  }
}

import { Interruption } from "./interruption.ts";
import { runProgram } from "./run-program.ts";

/** Shells report a process that a signal terminated as this number plus the number of the signal. */
const signalStatusBase = 128;

/** Runs the command line of this process. If a signal interrupts the command, the process terminates itself with that signal. */
export async function runProcess(): Promise<void> {
  const io = {
    // Opened only by a command that reads a secret.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    loadEnv: async () => (await import("../env.ts")).readEnv(),
  };
  // A terminal that was closed must not end the command before it has closed what it opened.
  process.stderr.on("error", () => undefined);
  try {
    process.exitCode = await runProgram(process.argv.slice(2), io);
  } catch (thrown) {
    if (!(thrown instanceof Interruption)) throw thrown;
    const { constants } = await import("node:os");
    // Without this status, an interrupted command that is process 1 of a container would exit with 0: the kernel discards a signal that
    // process 1 doesn't handle.
    process.exitCode = signalStatusBase + constants.signals[thrown.signal];
    process.kill(process.pid, thrown.signal);
  }
}

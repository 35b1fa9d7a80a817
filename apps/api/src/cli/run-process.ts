import { Interruption } from "./interruption.ts";
import { runProgram } from "./run-program.ts";

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
    process.kill(process.pid, thrown.signal);
  }
}

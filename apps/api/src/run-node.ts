import type { Deadlines } from "./deadlines.ts";
import { EnvError, readEnv } from "./env.ts";
import { StartError } from "./start-error.ts";

/** Runs a node until a signal stops it. Ignores further signals. */
async function runUntilStopped(deadlines?: Deadlines): Promise<void> {
  // If the reader of a pipe has ended (as `tee` does on Ctrl-C), a write emits an error, which would end the process
  // before it has stopped Postgres.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const stopping = new AbortController();
  const signaled = new Promise<void>((resolve) => {
    stopping.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
  const stack = new AsyncDisposableStack();
  try {
    const env = readEnv();
    // Loading everything else takes a second; an invalid environment is reported without it.
    const { startNode } = await import("./start-node.ts");
    const { withStartErrors } = await import("./prepare-database.ts");
    const { formatReadyMessage } = await import("./ready-message.ts");
    const facts = await withStartErrors(() => startNode(env, stack, { signal: stopping.signal, deadlines }));
    process.stdout.write(formatReadyMessage(facts));
  } catch (error) {
    if (isAbort(error)) return await stack.disposeAsync();
    process.stderr.write(`Latchkey cannot start. ${explain(error)}\n`);
    process.exitCode = 1;
    await stack.disposeAsync();
    return;
  }
  await signaled;
  await stack.disposeAsync();
}

/** Whether a signal has ended the wait for the database. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** The sentence for a problem that the operator can fix; the stack for a bug. */
function explain(error: unknown): string {
  if (error instanceof StartError || error instanceof EnvError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Runs a node in this process, and ends the process when the node has stopped.
 * @param deadlines those of the product by default.
 */
export async function runNode(deadlines?: Deadlines): Promise<never> {
  try {
    await runUntilStopped(deadlines);
  } catch (error) {
    process.stderr.write(`Latchkey did not stop cleanly. ${explain(error)}\n`);
    process.exit(1);
  }
  process.exit();
}

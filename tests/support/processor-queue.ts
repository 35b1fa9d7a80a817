import { readFileSync } from "node:fs";

// A busy machine delays a process while it could run but waits for a processor. The kernel counts these times, so a test of a
// deadline can subtract them. Time that a process sleeps, or waits for a lock or a timeout, isn't among them.

/** How often the times are read, in milliseconds. Those since the last reading before a process ends are lost. */
const intervalMs = 10;

/** How long the main thread of a process has waited for a processor, in milliseconds. The kernel counts nanoseconds. */
export function readQueuedMs(pid: number | undefined): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1_000_000;
}

/**
 * Measures how long a new process waits for a processor until the returned function is called, which returns milliseconds.
 * @param postmaster the Postgres that does the work of the process, one statement at a time. The waits of the sessions that begin
 *   after this call are added.
 */
export function measureQueue(pid: number | undefined, postmaster?: number): () => number {
  const earlier = new Set(listChildren(postmaster));
  const queuedMs = new Map<number | undefined, number>();
  const read = (): void => {
    const sessions = listChildren(postmaster).filter((child) => !earlier.has(child) && isSession(child));
    for (const each of [pid, ...sessions]) queuedMs.set(each, readIfAlive(each) ?? queuedMs.get(each) ?? 0);
  };
  const timer = setInterval(read, intervalMs);
  return () => {
    clearInterval(timer);
    return queuedMs.values().reduce((sum, each) => sum + each, 0);
  };
}

function listChildren(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** Whether a process of Postgres serves a client, unlike a worker of autovacuum. */
function isSession(pid: number): boolean {
  return (
    ifAlive(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"))?.startsWith("postgres: latchkey ") === true
  );
}

function readIfAlive(pid: number | undefined): number | undefined {
  return ifAlive(() => readQueuedMs(pid));
}

/** Returns undefined if the process of the file has ended. */
function ifAlive<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH"))
      return undefined;
    throw error;
  }
}

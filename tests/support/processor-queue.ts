import { readFileSync } from "node:fs";

// On a busy machine, a process that is ready to run waits for a processor. The kernel counts this time, so a test of a deadline can
// subtract it. It doesn't include the time for which a process sleeps, or waits for a lock or a timeout.

/** How often the times are read, in milliseconds. The time between the last reading and the end of a process isn't counted. */
const intervalMs = 10;

/** How long the main thread of a process has waited for a processor, in milliseconds. The kernel counts nanoseconds. */
export function readQueuedMs(pid: number | undefined): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1_000_000;
}

/**
 * Measures how long a new process waits for a processor. The returned function ends the measurement and returns the time, in
 * milliseconds.
 * @param postmaster the process ID of the Postgres that the process uses, one statement at a time. The waits of the sessions that begin
 *   after this call are added.
 */
export function measureQueuedMs(pid: number | undefined, postmaster?: number): () => number {
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

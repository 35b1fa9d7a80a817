import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** What is to be sent, and for how long. */
export interface LoadOrder {
  /** The whole address, path included. */
  readonly url: string;
  /** One after the other, over whichever connection is free. */
  readonly keys: readonly string[];
  /** Each sends its next request when it has the answer to the last. */
  readonly connections: number;
  /** A whole number. */
  readonly seconds: number;
}

/** What came back. No answer was a refusal. */
export interface LoadReport {
  readonly answered: number;
  readonly requestsPerSecond: number;
  /**
   * From writing a request to the end of its answer. For one that took more than twice the mean, wrk adds those that would
   * have been sent meanwhile.
   */
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
}

export interface RunningLoad {
  readonly pid: number;
  /** Settles when the time is over. What was under way then was cut off: a request a connection at most. */
  readonly ended: Promise<LoadReport>;
}

/**
 * Starts wrk: a process in C that takes a fraction of what a server in Node does, so that on a few cores it is the server
 * that is measured (docs/decisions/0016). Aborting the signal ends it.
 * @throws an Error where wrk cannot be started. What is awaited of it fails where an answer has a status of 400 or more,
 * a connection breaks, or nothing is answered at all.
 */
export function startLoad({ url, keys, connections, seconds }: LoadOrder, signal: AbortSignal): RunningLoad {
  const script = join(import.meta.dirname, "requests.lua");
  const words = [
    "--threads",
    1,
    "--connections",
    connections,
    "--duration",
    `${seconds}s`,
    "--script",
    script,
  ];
  const child = spawn("wrk", [...words, url].map(String), { stdio: ["pipe", "pipe", "inherit"], signal });
  const closed = once(child, "close");
  const ended = Promise.all([text(child.stdout), closed]).then(([output]) => readReport(output));
  ended.catch(() => undefined); // Whoever waits is told; not everybody does.
  if (child.pid === undefined) throw new Error("wrk cannot be started. Is it installed?");
  child.stdin.on("error", () => undefined); // Of one that ended without reading, the report tells.
  child.stdin.end(keys.map((key) => `${key}\n`).join(""));
  return { pid: child.pid, ended };
}

/** What `requests.lua` writes. */
interface Line extends Omit<LoadReport, "requestsPerSecond"> {
  readonly microseconds: number;
  /** Answers with a status of 400 or more. */
  readonly refused: number;
  /** Connections that were not had or broke. */
  readonly broken: number;
}

function readReport(output: string): LoadReport {
  const line = output.split("\n").find((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`wrk broke off: ${output}`);
  const { microseconds, refused, broken, ...report } = JSON.parse(line) as Line; // Our own script wrote it.
  if (refused > 0 || broken > 0 || report.answered === 0)
    throw new Error(`Of ${report.answered} answers ${refused} were refusals; ${broken} connections broke.`);
  return { ...report, requestsPerSecond: report.answered / (microseconds / 1_000_000) };
}

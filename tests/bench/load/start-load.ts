import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** One request of a load: a POST if it has a body, otherwise a GET. */
export interface LoadRequest {
  /** The API key. */
  readonly key: string;
  /** JSON in one line. */
  readonly body?: string;
}

/** The requests to send, and the duration. */
export interface LoadOptions {
  /** The complete URL. */
  readonly url: string;
  /** Sent in turn, over any free connection. */
  readonly requests: readonly LoadRequest[];
  /** Each connection sends its next request when it has the response to the last one. */
  readonly connections: number;
  /** An integer. */
  readonly seconds: number;
  /** The largest accepted share (0 to 1) of responses with a status of 400 or more. 0 by default. */
  readonly maxRejectedShare?: number;
}

/** The result of a load. */
export interface LoadReport {
  /** All responses. */
  readonly answered: number;
  /** Responses with a status of 400 or more. */
  readonly rejected: number;
  readonly requestsPerSecond: number;
  /**
   * From writing a request to the end of its response. For a request that took more than twice the mean, wrk adds the
   * latencies of the requests that would have been sent during that time.
   */
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
}

export interface RunningLoad {
  readonly pid: number;
  /** Settles when the load has ended. Requests in flight at the end, at most one per connection, are aborted. */
  readonly ended: Promise<LoadReport>;
}

/**
 * Starts wrk, which needs a fraction of the processor time of a server in Node, so that on a few cores the server is
 * the bottleneck (docs/decisions/0016). Aborting the signal ends it.
 * @throws an Error if wrk can't be started. `ended` rejects if too many responses have a status of 400 or more, if a
 *   connection breaks, or if there is no response at all.
 */
export function startLoad(
  { url, requests, connections, seconds, maxRejectedShare = 0 }: LoadOptions,
  signal: AbortSignal,
): RunningLoad {
  const script = join(import.meta.dirname, "requests.lua");
  const args = [
    "--threads",
    1,
    "--connections",
    connections,
    "--duration",
    `${seconds}s`,
    "--script",
    script,
  ];
  const child = spawn("wrk", [...args, url].map(String), { stdio: ["pipe", "pipe", "inherit"], signal });
  const closed = once(child, "close");
  const ended = Promise.all([text(child.stdout), closed]).then(([output]) =>
    readReport(output, maxRejectedShare),
  );
  ended.catch(() => undefined); // LoadClients that await the promise get the error.
  if (child.pid === undefined) throw new Error("wrk can't be started. Is it installed?");
  child.stdin.on("error", () => undefined); // If wrk ends without reading, reading its report fails.
  child.stdin.end(requests.map(toLine).join(""));
  return { pid: child.pid, ended };
}

function toLine({ key, body }: LoadRequest): string {
  return body === undefined ? `${key}\n` : `${key}\t${body}\n`;
}

/** The output of `requests.lua`. */
interface WrkReport extends Omit<LoadReport, "requestsPerSecond"> {
  readonly microseconds: number;
  /** Connections that failed or broke. */
  readonly broken: number;
}

function readReport(output: string, maxRejectedShare: number): LoadReport {
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined) throw new Error(`wrk failed: ${output}`);
  const { microseconds, broken, ...report } = JSON.parse(line) as WrkReport; // Written by `requests.lua`.
  const { answered, rejected } = report;
  if (rejected > answered * maxRejectedShare || broken > 0 || answered === 0)
    throw new Error(`${rejected} of ${answered} responses had an error status; ${broken} connections broke.`);
  return { ...report, requestsPerSecond: answered / (microseconds / 1_000_000) };
}

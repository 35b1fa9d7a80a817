import type { MemoryFigures } from "../measure/memory.ts";
import { median } from "../measure/statistics.ts";
import { betterAuthMaxRejectedShare, betterAuthPoolSize } from "../servers/better-auth-options.ts";
import { tableOfRequirements } from "./requirements.ts";
import { type BenchResults, describeRun, describeSetup, explanationOfTables, sectionOf } from "./sections.ts";
import { milliseconds, renderTable, subjectTitles } from "./tables.ts";

/** Creates the text of docs/benchmarks.md. */
export function composeReport(results: BenchResults): string {
  const { options, rounds, memory } = results;
  const flush = median(rounds.map(({ flushMicroseconds }) => flushMicroseconds));
  return `# Benchmarks

${describeRun(results)} All requests are \`GET /open/global/config\`, unless a row of a table names another endpoint, admitted and \
counted: each use is committed to disk before its response is sent.

## Requirements

${tableOfRequirements(rounds)}

A share of bare Koa is the throughput of a turn divided by that of bare Koa before and after the turn. Other ratios are \
ratios of two such shares in the same round. "Measured" is the median of the ratios of all rounds, with their range in \
parentheses. "Met" compares this median with the requirement, and is inconclusive if some rounds meet the requirement and \
others don't. One flush takes ${milliseconds(flush)} ms here. On another disk, a flush can take many times as long, and a \
request that waits for it takes longer by as much.

${options.connections.map((connections) => sectionOf(rounds, subjectTitles, connections)).join("\n\n")}

${explanationOfTables} With 20,000 keys, this includes the first use of each key, over 64 connections.

## Memory

${memory ? describeMemory(memory) : "Not measured in this run."}

${describeSetup(results)}

${method}`;
}

function describeMemory({ requests, idle, after }: MemoryFigures): string {
  const mib = (bytes: number | undefined): string =>
    bytes === undefined ? "–" : `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const rows = [
    ["resident, idle after the start", mib(idle.residentBytes)],
    [`resident, after ${requests.toLocaleString("en")} requests with 20,000 keys`, mib(after.residentBytes)],
    ["resident, peak", mib(after.peakResidentBytes)],
    ["heap in use after a full garbage collection", mib(after.heapBytes)],
  ];
  return `One Latchkey node, 64 connections.\n\n${renderTable(["", ""], rows)}`;
}

const method = `## Method

- Every measurement starts a new server process. Latchkey starts as in production (\`node apps/api/src/main.ts\`), without
  flags, and all servers get the same environment. Each round reverses the order of the measurements.
- wrk generates the load, with one thread, without pipelining, and with requests built in advance. Generator, server and
  Postgres share the cores, so the others lack the processor time that the generator takes. This matters most if a server
  and its database keep both cores busy: a generator that takes more processor time reduces Latchkey's share of bare Koa
  ([decision 16](decisions/0016-benchmark-with-wrk.md)).
- A machine that shares its processors with others can be twice as fast in one second as in another. So each turn of a
  server runs between two turns of a bare Koa that was started and warmed up together with it. Before each turn, the same
  load runs for a second that is not counted, so that no turn is affected by the turn before it. Bare Koa in the tables is
  another process, measured like all other servers: the distance of its share of bare Koa from 1.00 shows how far to trust
  the other figures.
- All databases are in one embedded Postgres, which Latchkey's own code starts; each case has a database of its own.
  Latchkey connects to it over its Unix socket. A checkpoint before each measurement ensures that none happens during it.
- With more than one key, requests use the keys in turn, over any free connection. So a key rarely has two requests in
  flight, and a batch can rarely combine two uses of one key. Each key is used before the warm-up, so that the measured
  node remembers its keys. Among 1,000,000 stored keys, the 20,000 keys in use are at random positions.
- Bare Koa and \`node:http\` return a body and headers that were recorded from Latchkey. Koa serializes the body for each
  response; \`node:http\` sends a string that was built in advance. Before each measurement, their responses are compared
  with Latchkey's.
- \`GET /open/workspaces/{workspaceId}\` has a path parameter and reads one row in a transaction of its own, and
  \`GET …/members\` reads 25 of 1,000 rows. The latter is not measured with 256 connections, because its requests would reach
  their deadline. Their share of bare Koa compares them with a bare Koa that returns the same response without reading
  anything. To measure only them: \`pnpm bench --only koa,latchkey:workspace,latchkey:members --connections 64,256\`.
- \`pnpm bench:verify\` measures the verification of issued keys
  ([figures](verification-benchmarks.md)). It is a separate run, because its requests have bodies, and it compares other
  servers, which answer the same POST.
- better-auth runs its API-key plugin on the same Postgres, in a database that its own migrator created. Keys are hashed,
  and each use is counted in the key's row before the response, by its rate limit, which is too high to be reached. Nothing
  is deferred and nothing is cached. It has a pool of ${betterAuthPoolSize} connections, and its rate limit per IP address and its log are
  off. A bare Koa calls its check directly, without its own router. Its keys are not used before the warm-up, because it is
  too slow to use 20,000 keys and remembers nothing. Therefore its write-ahead log also has page images.
- wrk measures latencies from writing a request to the end of its response. For a request that took more than twice the
  mean, wrk adds the latencies of the requests that would have been sent during that time. The latencies are those of
  clients that send the next request as soon as they have the response.
- Linux counts processor times in hundredths of a second. They are measured over 0.6 s of each turn.
- One flush is the median time of writing 8 kB to a file of fixed size next to the cluster and calling fdatasync.
- A run fails if a response has a status of 400 or more, of better-auth if more than ${betterAuthMaxRejectedShare * 100}% of its responses
  have one; if a connection breaks; if answered ≤ counted ≤ sent is false after
  a measurement; or if the log was flushed less often than needed to make each count durable before its response, because
  one flush can cover at most one response per connection.

Not measured: a network between machines, TLS, several nodes on one Postgres, a Postgres that waits for a replica, the first
use of a key on a node (two statements), and what the first write to each page after a checkpoint adds to the write-ahead log
(a page image of up to 8 kB).
`;

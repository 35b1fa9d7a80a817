import autocannon from "autocannon";
import { Latencies } from "./latencies.ts";
import type { LoadCommand, LoadOrder, LoadReport, LoadWindow } from "./messages.ts";

// autocannon in a process of its own. Everything it sends is built before it starts.

/** Over how many connections each key is sent once. */
const firstConnections = 64;
/** How soon autocannon notices that it is to stop, in milliseconds. */
const sampleMs = 50;

let answered = 0;
let window:
  | { readonly latencies: Latencies; readonly startedAt: number; readonly cpu: NodeJS.CpuUsage }
  | undefined;

interface Fire {
  readonly ended: Promise<void>;
  readonly stop: () => void;
}

/** Sends over so many connections until stopped, or this many requests in all. */
function fire(order: LoadOrder, connections: number, amount?: number): Fire {
  const shares = shareOut(order.keys, connections);
  let next = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const instance = autocannon(
    {
      url: order.url,
      connections,
      sampleInt: sampleMs,
      setupClient(client) {
        client.setRequests((shares[next % shares.length] ?? []).map((key) => requestWith(key)));
        next += 1;
      },
      ...(amount === undefined ? { duration: 3_600 } : { amount }),
    },
    (error: unknown) => (error ? reject(error) : resolve()),
  );
  instance.on("response", (_client, status, _bytes, milliseconds) => {
    if (status < 200 || status > 299) fail(`An answer with status ${status} after ${answered} good ones.`);
    answered += 1;
    window?.latencies.record(milliseconds);
  });
  instance.on("reqError", (error) => fail(`A request failed after ${answered} answers: ${String(error)}`));
  return { ended: promise, stop: () => instance.stop() };
}

function requestWith(key: string): autocannon.Request {
  return { headers: { authorization: `Bearer ${key}` } };
}

/** Deals the keys out; where there are fewer than hands, every hand gets them all. */
function shareOut(keys: readonly string[], hands: number): (readonly string[])[] {
  if (keys.length < hands) return [keys];
  return Array.from({ length: hands }, (_, hand) => keys.filter((_key, index) => index % hands === hand));
}

function closeWindow(): LoadWindow {
  if (!window) throw new Error("No window is open.");
  const { latencies, startedAt, cpu } = window;
  const seconds = (performance.now() - startedAt) / 1_000;
  window = undefined;
  const { user, system } = process.cpuUsage(cpu);
  return {
    kind: "window",
    requests: latencies.total,
    seconds,
    p50Microseconds: latencies.percentile(0.5),
    p99Microseconds: latencies.percentile(0.99),
    generatorMicroseconds: user + system,
  };
}

function tell(report: LoadReport): void {
  process.send?.(report);
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

async function run(order: LoadOrder): Promise<void> {
  const before = order.sendsEachKeyFirst ? Math.min(firstConnections, order.keys.length) : 0;
  if (before > 0) await fire(order, before, order.keys.length).ended;
  const load = fire(order, order.connections, order.requests);
  process.on("message", (command: LoadCommand) => {
    if (command === "open") {
      window = { latencies: new Latencies(), startedAt: performance.now(), cpu: process.cpuUsage() };
    } else {
      tell(closeWindow());
      load.stop();
    }
  });
  tell({ kind: "started" });
  await load.ended;
  const cutOff = order.requests === undefined ? order.connections : 0;
  const mostConnections = Math.max(before, order.connections);
  tell({ kind: "total", answered, sent: answered + cutOff, mostConnections });
  process.disconnect?.();
}

process.once("message", (order: LoadOrder) => {
  // The runner is gone: nobody would tell it to stop.
  process.once("disconnect", () => process.exit());
  run(order).catch((error: unknown) => fail(String(error)));
});

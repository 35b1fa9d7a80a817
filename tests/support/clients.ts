import { Agent } from "node:http";

/** One of many clients. It sends one request after the other. */
export interface Client {
  /** Counted from 0. */
  readonly index: number;
  /** The client's connection, which is kept alive. */
  readonly agent: Agent;
  /** Whether the client should stop sending. */
  readonly isStopped: () => boolean;
  /** Called when one of its requests has ended. */
  readonly onRequestEnd: () => void;
}

/** Running clients. */
export interface Clients {
  /** Settles when this many requests have ended in total, or when all clients have ended. */
  readonly reached: (count: number) => Promise<void>;
  /** Settles when every client has ended. */
  readonly ended: Promise<void>;
  /** Stops each client after its current request. */
  readonly stop: () => Promise<void>;
}

/** Starts this many clients, each with a separate connection. @param run runs one client until it is stopped. */
export function startClients(connections: number, run: (client: Client) => Promise<void>): Clients {
  const waiting = new Set<{ readonly count: number; readonly settle: () => void }>();
  let endedRequests = 0;
  let isStopped = false;

  function resolveWaitsUpTo(count: number): void {
    for (const wait of waiting) {
      if (wait.count > count) continue;
      waiting.delete(wait);
      wait.settle();
    }
  }

  async function runOne(index: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const onRequestEnd = (): void => {
      endedRequests += 1;
      resolveWaitsUpTo(endedRequests);
    };
    await run({ index, agent, isStopped: () => isStopped, onRequestEnd });
    agent.destroy();
  }

  const all = Array.from({ length: connections }, (_, index) => runOne(index));
  let areEnded = false;
  const ended = Promise.all(all).then(() => {
    areEnded = true;
    resolveWaitsUpTo(Number.POSITIVE_INFINITY);
  });
  return {
    reached: (count) =>
      new Promise((settle) => {
        if (areEnded || endedRequests >= count) settle();
        else waiting.add({ count, settle });
      }),
    ended,
    async stop() {
      isStopped = true;
      await ended;
    },
  };
}

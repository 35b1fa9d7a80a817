import type { CreatedKey } from "./account.ts";
import { startClients } from "./clients.ts";
import { send } from "./load.ts";

/** How often each status, or error, occurred, by key ID. */
export type StatusCounts = ReadonlyMap<string, Readonly<Record<string, number>>>;

export interface RoundRobinLoad {
  /** The responses so far. */
  readonly tally: StatusCounts;
  /** Settles when this many requests have responses in total, or when all clients have ended. */
  readonly reached: (count: number) => Promise<void>;
  /** Stops each client after its current request. */
  readonly stop: () => Promise<StatusCounts>;
}

/**
 * Starts clients that each use all keys in turn, round after round, on separate connections and from different starting
 * points. A client ends when its connection breaks. Requests in flight use as many keys as there are clients.
 */
export function startRoundRobinLoad(options: {
  readonly baseUrl: string;
  readonly keys: readonly CreatedKey[];
  readonly connections: number;
}): RoundRobinLoad {
  const { baseUrl, keys, connections } = options;
  const tally = new Map<string, Record<string, number>>(keys.map(({ id }) => [id, {}]));
  const { reached, stop } = startClients(connections, async ({ index, agent, isStopped, onRequestEnd }) => {
    for (let position = Math.floor((index * keys.length) / connections); !isStopped(); position += 1) {
      const key = keys[position % keys.length];
      if (!key) break;
      const { status, errorCode } = await send(agent, baseUrl, key.key);
      const counts = tally.get(key.id) ?? {};
      const name = String(status ?? errorCode);
      counts[name] = (counts[name] ?? 0) + 1;
      onRequestEnd();
      if (status === undefined) break;
    }
  });
  return {
    tally,
    reached,
    async stop() {
      await stop();
      return tally;
    },
  };
}

/** How often each status occurred, over all keys. */
export function sumStatuses(tallies: readonly StatusCounts[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const tally of tallies)
    for (const counts of tally.values())
      for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** How often each key got 200. */
export function countAnsweredByKey(tallies: readonly StatusCounts[]): ReadonlyMap<string, number> {
  const answered = new Map<string, number>();
  for (const tally of tallies)
    for (const [id, counts] of tally) answered.set(id, (answered.get(id) ?? 0) + (counts["200"] ?? 0));
  return answered;
}

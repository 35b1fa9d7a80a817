import type { CreatedKey } from "./account.ts";
import { startClients } from "./clients.ts";
import { send } from "./load.ts";

/** How often each status, or error in place of one, was seen of each key, by the key's id. */
export type Tally = ReadonlyMap<string, Readonly<Record<string, number>>>;

export interface Walk {
  /** What has been answered so far. */
  readonly tally: Tally;
  /** Settles when so many requests have been answered in all, or all clients have ended. */
  readonly reached: (count: number) => Promise<void>;
  /** Lets each client finish its request, and no more. */
  readonly stop: () => Promise<Tally>;
}

/**
 * Clients that walk over the keys, one request after the other, round after round, each over a connection of its own
 * and from a place of its own; one whose connection breaks ends. What is under way at once is of as many keys as there are
 * clients.
 */
export function startWalk(options: {
  readonly baseUrl: string;
  readonly keys: readonly CreatedKey[];
  readonly connections: number;
}): Walk {
  const { baseUrl, keys, connections } = options;
  const tally = new Map<string, Record<string, number>>(keys.map(({ id }) => [id, {}]));
  const { reached, stop } = startClients(connections, async ({ index, agent, isStopped, tellEnded }) => {
    for (let place = Math.floor((index * keys.length) / connections); !isStopped(); place += 1) {
      const key = keys[place % keys.length];
      if (!key) break;
      const { status, errorCode } = await send(agent, baseUrl, key.key);
      const counts = tally.get(key.id) ?? {};
      const name = String(status ?? errorCode);
      counts[name] = (counts[name] ?? 0) + 1;
      tellEnded();
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

/** How often each status was seen, of all keys together. */
export function sumStatuses(tallies: readonly Tally[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const tally of tallies)
    for (const counts of tally.values())
      for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** How often each key was answered 200. */
export function countAnsweredByKey(tallies: readonly Tally[]): ReadonlyMap<string, number> {
  const answered = new Map<string, number>();
  for (const tally of tallies)
    for (const [id, counts] of tally) answered.set(id, (answered.get(id) ?? 0) + (counts["200"] ?? 0));
  return answered;
}

import type { KeyId } from "@latchkey/db/ids";

// SQL, of a row of `key_counters` as `counter` and an ask as `asked`. Windows are exact, on any number of nodes, because
// they live in the row that is locked to be counted.

/** Times of an ask's window: `now`, and how long it lasts. */
export const askedTimes = "now, window_seconds * interval '1 second' as length";

/** A window begins with the first request after the last one ended. Null where there never was one. */
const isOpen = "counter.window_ends_at > asked.now";
const spentBefore = `(case when ${isOpen} then counter.window_spent else 0 end)`;
/** All of them where there is no quota: to Postgres, the least of a number and null is the number. */
export const granted = `greatest(0, least(asked.uses, asked.quota - ${spentBefore}))`;

/**
 * What a row becomes by an ask: as many uses as its limit leaves. How many that were stands in the row, since an update
 * tells what has become of it and not what it was. A clock that was set back cannot hold a window open: it is
 * moved along, with what was spent in it, and not begun anew. Two nodes' asks may come here in another order than that of
 * their instants, by no more than the statement may take.
 */
export const spend = `
  use_count = counter.use_count + ${granted},
  last_used_at = case
    when ${spentBefore} >= asked.quota then counter.last_used_at
    else greatest(counter.last_used_at, asked.now) end,
  window_ends_at = case
    when asked.quota is null then counter.window_ends_at
    when ${isOpen} then least(counter.window_ends_at, asked.now + asked.length + interval '2 seconds')
    else asked.now + asked.length end,
  window_spent = case
    when asked.quota is null then counter.window_spent
    else greatest(${spentBefore}, least(${spentBefore} + asked.uses, asked.quota)) end,
  last_granted = case when asked.quota is null then counter.last_granted else ${granted} end`;

/** What the row that has come of it tells of the limit. A quota that was made less may leave fewer than none. */
export const windowState = `
  counter.last_granted as granted,
  greatest(0, asked.quota - counter.window_spent) as remaining,
  greatest(1, ceil(date_part('epoch', counter.window_ends_at - asked.now)))::integer as resets_in_seconds`;

/** How much of a batch the limit of a key let through, and where that leaves the limit. */
export interface Spent {
  /** So many of the uses asked for, of which those that asked first are meant. */
  readonly granted: number;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetsInSeconds: number;
}

/** Of a batch in which no key has a limit. */
export const nothingSpent: ReadonlyMap<KeyId, Spent> = new Map();

// SQL, of a row of `key_counters` as `counter` and an ask as `asked`. Windows are exact, on any number of nodes, because
// they live in the row that is locked to be counted.

/** Times of an ask's window: `now`, when a window that begins now ends, and the latest that one may end. */
export const askedTimes = `
  now,
  now + window_seconds * interval '1 second' as next_end,
  now + (window_seconds + 2) * interval '1 second' as latest_end`;

/** A window begins with the first request after the last one ended. */
const isFresh = "coalesce(asked.now >= counter.window_ends_at, true)";
const spentBefore = `(case when ${isFresh} then 0 else counter.window_spent end)`;
const granted = `greatest(0, least(asked.uses, asked.quota - ${spentBefore}))`;

/**
 * What a row becomes by an ask: as many uses as its limit leaves. How many that were stands in the row, since an update
 * tells what has become of it and not what it was. A clock that was set back cannot hold a window open: it is
 * moved along, with what was spent in it, and not begun anew. Two nodes' asks may come here in another order than that of
 * their instants, by no more than the statement may take.
 */
export const spend = `
  use_count = counter.use_count + case when asked.quota is null then asked.uses else ${granted} end,
  last_used_at = case
    when asked.quota is null or ${spentBefore} < asked.quota then greatest(counter.last_used_at, asked.now)
    else counter.last_used_at end,
  window_ends_at = case
    when asked.quota is null then counter.window_ends_at
    when ${isFresh} then asked.next_end
    else least(counter.window_ends_at, asked.latest_end) end,
  window_spent = case
    when asked.quota is null then counter.window_spent
    else ${spentBefore} + ${granted} end,
  last_granted = case when asked.quota is null then counter.last_granted else ${granted} end`;

/** What the row that has come of it tells of the limit. */
export const windowState = `
  counter.last_granted,
  asked.quota - counter.window_spent as remaining,
  date_part('epoch', counter.window_ends_at - asked.now) as seconds_left`;

/** How much of a batch the limit of a key let through, and where that leaves the limit. */
export interface Spent {
  /** So many of the uses asked for, of which those that asked first are meant. */
  readonly granted: number;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetsInSeconds: number;
}

/** Reads {@link windowState}. A quota that was made less may leave fewer than none. */
export function toSpent(granted: number, remaining: number, secondsLeft: number): Spent {
  return {
    granted,
    remaining: Math.max(0, remaining),
    resetsInSeconds: Math.max(1, Math.ceil(secondsLeft)),
  };
}

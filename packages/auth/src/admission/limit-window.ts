import type { KeyId } from "@latchkey/db/ids";

// SQL fragments over a row of `key_counters` as `counter` and a usage increment as `input`. Windows are exact on any number
// of nodes, because they are stored in the row that is locked for counting.

/** How much longer than a new window an open one can last, in seconds (see {@link countWithinLimit}). */
export const windowToleranceSeconds = 2;

/** Columns with the times of a rate limit's window: `now` and the window's `length`. */
export const incrementTimes = "now, window_seconds * interval '1 second' as length";

/** Whether the window is open. A window starts with the first request after the previous window ended; null if there was none. */
const isOpen = "counter.window_ends_at > input.now";
const usedBefore = `(case when ${isOpen} then counter.window_spent else 0 end)`;
/** The uses granted; all of them for a key without a quota, because Postgres's `least` ignores nulls. */
export const granted = `greatest(0, least(input.uses, input.quota - ${usedBefore}))`;

/**
 * Assignments that count as many uses as the rate limit leaves. The row stores how many were granted (`last_granted`),
 * because `returning` in an update returns new values only. If the clock is set back, an open window is shortened
 * instead of staying open too long, and keeps its count. Two nodes can update the row in the opposite order of their
 * times (`now`), which differ by at most the statement timeout; {@link windowToleranceSeconds} tolerate that.
 */
export const countWithinLimit = `
  use_count = counter.use_count + ${granted},
  last_used_at = case
    when ${usedBefore} >= input.quota then counter.last_used_at
    else greatest(counter.last_used_at, input.now) end,
  window_ends_at = case
    when input.quota is null then counter.window_ends_at
    when ${isOpen} then least(counter.window_ends_at, input.now + input.length + interval '${windowToleranceSeconds} seconds')
    else input.now + input.length end,
  window_spent = case
    when input.quota is null then counter.window_spent
    else greatest(${usedBefore}, least(${usedBefore} + input.uses, input.quota)) end,
  last_granted = case when input.quota is null then counter.last_granted else ${granted} end`;

/** Columns with the outcome of the rate limit. `greatest` covers a quota that was lowered below the uses in the window. */
export const windowState = `
  counter.last_granted as granted,
  greatest(0, input.quota - counter.window_spent) as remaining,
  greatest(1, ceil(date_part('epoch', counter.window_ends_at - input.now)))::integer as resets_in_seconds`;

/** How many uses of a batch a key's rate limit granted, and the state of its window afterwards. */
export interface LimitOutcome {
  /** The number of uses granted. The requests that arrived first get them. */
  readonly granted: number;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up. */
  readonly resetsInSeconds: number;
}

/** The outcomes of a batch without rate limits. */
export const noLimitOutcomes: ReadonlyMap<KeyId, LimitOutcome> = new Map();

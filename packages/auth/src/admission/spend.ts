// SQL, of a row of `key_counters` as `counter` and an ask as `asked`. Windows are exact, on any number of nodes, because
// they live in the row that is locked to be counted.

/** A window begins with the first request after the last one ended. */
const isFresh = `
  (counter.window_started_at is null
    or asked.now >= counter.window_started_at + asked.window_seconds * interval '1 second')`;
const askedBefore = `case when ${isFresh} then 0 else counter.window_demand end`;
const toGrant = `
  case when asked.quota is null then asked.uses
    else greatest(0, least(asked.uses, asked.quota - ${askedBefore})) end`;

/**
 * What a row becomes by an ask: as many uses as its limit leaves. The window remembers what was asked for, so that the new
 * row tells how many of the last ask were let through. A clock that was set back cannot hold a window open: it is
 * moved along, with what was spent in it, and not begun anew. Two nodes' asks may come here in another order than that of
 * their instants, by no more than the statement may take.
 */
export const spend = `
  use_count = counter.use_count + ${toGrant},
  last_used_at = case when ${toGrant} > 0 then greatest(counter.last_used_at, asked.now) else counter.last_used_at end,
  window_started_at = case
    when asked.quota is null then counter.window_started_at
    when ${isFresh} then asked.now
    else least(counter.window_started_at, asked.now + interval '2 seconds') end,
  window_demand = case
    when asked.quota is null then counter.window_demand
    else ${askedBefore} + asked.uses end`;

/** What the row that has come of it tells: `granted`, `remaining`, `resets_in_seconds`. */
export const spentState = `
  greatest(0, least(asked.uses, asked.quota - (counter.window_demand - asked.uses))) as granted,
  greatest(0, asked.quota - counter.window_demand) as remaining,
  greatest(1, ceil(extract(epoch from
    counter.window_started_at + asked.window_seconds * interval '1 second' - asked.now)))::integer
    as resets_in_seconds`;

import { sql } from "kysely";
import type { IssuedKeyId } from "./ids.ts";
import type { Refill } from "./issued-key-settings.ts";
import { settledCredits } from "./settled-credits.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/**
 * Applies a refill that is due, before the refill of a key is changed, so that the key keeps its balance. The new refill is due from
 * now. Does nothing for a key without credits. Call it with `finishKeyChange`, last in the transaction, because admission waits for the
 * counter.
 */
export async function settleRefill(
  trx: WorkspaceTrx,
  id: IssuedKeyId,
  formerRefill: Refill | null,
): Promise<void> {
  const refill = sql`${formerRefill && JSON.stringify(formerRefill)}::jsonb`;
  const credits = settledCredits({
    credits: sql`clock.credits`,
    refilledAt: sql`clock.credits_refilled_at`,
    refill,
    dueAt: sql`latest_refill(${refill}, now)`,
  });
  await sql`
    with locked as materialized (
      select key_id, credits, credits_refilled_at from key_counters where key_id = ${id} for no key update
    ),
    clock as materialized (
      -- Read after the lock, and once, so that a refill can't become due between two readings.
      select locked.*, clock_timestamp() as now from locked
    )
    update key_counters counter
    set credits = ${credits},
      -- Not earlier than before: after the clock was set back, the same refill must not be applied twice.
      credits_refilled_at = greatest(now, clock.credits_refilled_at)
    from clock
    where counter.key_id = clock.key_id and clock.credits is not null`.execute(trx);
}

/** A change to a balance of credits, in whole credits: to a value, or by a positive or negative amount. */
export type CreditChange = { readonly set: number } | { readonly add: number };

/** The balance of a key before and after a change. */
export interface ChangedBalance {
  /** With a refill that was due; null for a key without credits. */
  readonly before: number | null;
  /** Undefined if nothing was changed, because the new balance would be out of range, or the key has no credits to add to. */
  readonly after: number | undefined;
}

/**
 * Changes the balance of a key in one statement, unless it would become negative or greater than `maxBalance`. The statement
 * locks the counter before it reads the balance, so that no concurrent use is lost. A refill that is due is applied first; a
 * balance that is set is next refilled at the next time.
 *
 * The version of the key stays: a verification reads the balance from the locked counter, and no node remembers it. Admission
 * waits for the counter until the transaction ends, so do as little as possible afterwards.
 * @returns undefined if the key doesn't exist.
 */
export async function changeCredits(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  {
    id,
    change,
    maxBalance,
  }: {
    readonly id: IssuedKeyId;
    readonly change: CreditChange;
    readonly maxBalance: number;
  },
): Promise<ChangedBalance | undefined> {
  const balance =
    "set" in change ? sql`${change.set}::bigint` : sql`refilled.credits + ${change.add}::bigint`;
  const credits = settledCredits({
    credits: sql`credits`,
    refilledAt: sql`credits_refilled_at`,
    refill: sql`refill`,
    dueAt: sql`due_at`,
  });
  const refilledAt =
    "set" in change ? sql`refilled.now` : sql`greatest(refilled.due_at, refilled.credits_refilled_at)`;
  const { rows } = await sql<{ before: number | null; after: number | null }>`
    with locked as materialized (
      select key_id, credits, credits_refilled_at from key_counters
      where key_id = (select id from issued_keys where id = ${id} and workspace_id = ${workspaceId})
      for no key update
    ),
    clock as materialized (
      -- Read after the lock, and once, so that a refill can't become due between two readings.
      select locked.*, clock_timestamp() as now from locked
    ),
    refilled as materialized (
      select key_id, now, due_at, credits_refilled_at, ${credits} as credits
      from clock join issued_keys on issued_keys.id = clock.key_id,
        lateral (select latest_refill(refill, now) as due_at) as refills
    ),
    changed as (
      update key_counters counter set credits = ${balance}, credits_refilled_at = ${refilledAt}
      from refilled
      where counter.key_id = refilled.key_id and ${balance} between 0 and ${maxBalance}
      returning counter.credits
    )
    select refilled.credits as before, changed.credits as after
    from refilled left join changed on true`.execute(trx);
  const [row] = rows;
  return row && { before: row.before, after: row.after ?? undefined };
}

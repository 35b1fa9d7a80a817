import { type Expression, type RawBuilder, sql } from "kysely";

/** A balance as SQL. */
interface Balance {
  readonly credits: Expression<unknown>;
  /** When the balance was last set or refilled. */
  readonly refilledAt: Expression<unknown>;
  readonly refill: Expression<unknown>;
  /** When it was last due to be refilled, by `latest_refill`. */
  readonly dueAt: Expression<unknown>;
}

/** SQL for a balance with a refill that became due since it was last set or refilled. A refill never reduces the balance. */
export function settledCredits({ credits, refilledAt, refill, dueAt }: Balance): RawBuilder<number | null> {
  return sql<number | null>`case
    when ${dueAt} > ${refilledAt} then greatest(${credits}, (${refill} ->> 'amount')::bigint)
    else ${credits} end`;
}

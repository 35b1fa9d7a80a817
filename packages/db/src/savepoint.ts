import { sql } from "kysely";
import type { Trx } from "./schema.ts";

/**
 * Runs `work` after a savepoint. If it returns undefined, rolls back to the savepoint, which keeps what the transaction
 * did before.
 */
export async function withSavepoint<Result>(
  trx: Trx,
  work: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  await sql`savepoint undo`.execute(trx);
  const result = await work();
  if (result === undefined) await sql`rollback to savepoint undo`.execute(trx);
  await sql`release savepoint undo`.execute(trx);
  return result;
}

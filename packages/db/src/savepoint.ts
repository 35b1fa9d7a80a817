import { sql } from "kysely";
import type { Trx } from "./schema.ts";

/** Does work in a transaction, and undoes all of the work, but nothing before it, if it returns undefined. */
export async function undoUnlessDone<Result>(
  trx: Trx,
  work: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  await sql`savepoint undo`.execute(trx);
  const result = await work();
  if (result === undefined) await sql`rollback to savepoint undo`.execute(trx);
  await sql`release savepoint undo`.execute(trx);
  return result;
}

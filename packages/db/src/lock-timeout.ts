import { sql } from "kysely";
import type { Trx } from "./schema.ts";

/**
 * Limits how long the transaction waits for each lock. The statement that waits longer fails.
 * @param milliseconds at least 1, because 0 means no limit.
 */
export async function setLockTimeout(trx: Trx, milliseconds: number): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${milliseconds}ms`}, true)`.execute(trx);
}

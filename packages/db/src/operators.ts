import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";

/** The IDs of the operators, including disabled ones. */
export async function listOperatorIds(db: Db): Promise<UserId[]> {
  const rows = await db
    .selectFrom("users")
    .select("id")
    .where("is_operator", "=", true)
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}

export async function isOperator(db: Db, id: UserId): Promise<boolean> {
  const user = await db
    .selectFrom("users")
    .select("id")
    .where("id", "=", id)
    .where("is_operator", "=", true)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  return user !== undefined;
}

/** Whether an operator other than this user can sign in. Lock the operators first, so that it stays true. */
export async function hasOtherOperator(trx: Trx, id: UserId): Promise<boolean> {
  const other = await trx
    .selectFrom("users")
    .select("id")
    .where("is_operator", "=", true)
    .where("disabled_at", "is", null)
    .where("id", "<>", id)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}

/** Grants or revokes the operator role. Returns false if nothing changes. Lock the user first. */
export async function setOperator(trx: Trx, id: UserId, value: boolean): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("users")
    .set({ is_operator: value, updated_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .where("is_operator", "<>", value)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

import { CompiledQuery } from "kysely";
import type { Db } from "./schema.ts";

/** Runs a statement that is given as text, with placeholders (`$1`) for its values. */
export async function runText<Row>(db: Db, text: string, values: readonly unknown[]): Promise<Row[]> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]));
  return rows;
}

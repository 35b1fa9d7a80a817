import { CompiledQuery } from "kysely";
import type { Db } from "./schema.ts";

/** Runs one statement that is written as text, with `$1` and so on for its values. */
export async function runText<Row>(db: Db, text: string, values: readonly unknown[]): Promise<Row[]> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]));
  return rows;
}

import { sql } from "kysely";
import type { Db } from "./schema.ts";

/** Reads the database's clock, to the millisecond. The clock of a node may be wrong. */
export async function readClock(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const now = rows[0]?.now;
  if (!now) throw new Error("The database did not return its time.");
  return now;
}

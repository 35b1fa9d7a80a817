import { sql } from "kysely";
import type { Db } from "./schema.ts";

/** The current time by the database's clock, in milliseconds; a node's own clock may be wrong. */
export async function readClock(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
  const now = rows[0]?.now;
  if (!now) throw new Error("The database did not return its time.");
  return now;
}

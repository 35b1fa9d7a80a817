import { sql } from "kysely";
import type { Db } from "../schema.ts";
import { type BackupTable, backupTables } from "./backup-tables.ts";

/** A table in the database that a backup contains. */
export interface PresentTable {
  readonly table: BackupTable;
  /** Whether row-level security applies to the owner of the table. */
  readonly isForced: boolean;
}

/** The tables of {@link backupTables} that the schema has, by name. */
export async function findBackupTables(db: Db): Promise<PresentTable[]> {
  const { rows } = await sql<PresentTable>`
    select relname as table, relforcerowsecurity as "isForced" from pg_class
    where relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')
      and relname = any(${backupTables as readonly string[]})
    order by 1`.execute(db);
  return rows;
}

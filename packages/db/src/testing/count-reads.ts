import { sql } from "kysely";
import type { Db } from "../schema.ts";

/** What a unit of work reads from tables. */
export interface Reads {
  /** Sequential scans. */
  readonly scans: number;
  /** Rows that are read by sequential scans or found by indexes. */
  readonly rows: number;
}

/**
 * Counts what `work` reads from these tables. The statistics of a connection can include what its earlier transactions read in the
 * last second, so only the difference counts.
 * @param trx a transaction that `work` queries.
 */
export async function countReads<Result>(
  trx: Db,
  tables: readonly string[],
  work: () => Promise<Result>,
): Promise<Reads & { readonly result: Result }> {
  const before = await readStatistics(trx, tables);
  const result = await work();
  const after = await readStatistics(trx, tables);
  return { result, scans: after.scans - before.scans, rows: after.rows - before.rows };
}

async function readStatistics(trx: Db, tables: readonly string[]): Promise<Reads> {
  const { rows } = await sql<Reads>`
    select sum(seq_scan)::int as scans, sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
    from pg_stat_xact_user_tables where relid = any(${tables}::text[]::regclass[])`.execute(trx);
  return rows[0] ?? { scans: 0, rows: 0 };
}

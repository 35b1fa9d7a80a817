import { type Kysely, sql } from "kysely";

/**
 * Versions of the owners of keys. A change to an owner increments one row, whatever the number of keys, and admission
 * compares it with the version by which a request was decided. An owner without a row has version 0, so that existing
 * users need no rows. Like `key_counters`, the table has no foreign key: a deleted owner must not abort a batch.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table owner_versions (
      owner_id uuid primary key,
      version integer not null
    )`.execute(db);
  await sql`grant select, insert, delete, update (version) on owner_versions to latchkey_tenant`.execute(db);
  await sql`grant select on owner_versions to latchkey_admission`.execute(db);
}

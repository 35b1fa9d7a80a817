import { type Kysely, sql } from "kysely";

/** Finds the former secrets of a keyspace by their first characters. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index retired_issued_secrets_by_start on retired_issued_secrets (keyspace_id, start text_pattern_ops)`.execute(
    db,
  );
}

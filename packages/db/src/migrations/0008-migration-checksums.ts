import { type Kysely, sql } from "kysely";

/** For each migration, the checksum of its source and the oldest version of Latchkey that can run on its schema. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table migrations
      add column checksum text,
      add column compatible_from text`.execute(db);
}

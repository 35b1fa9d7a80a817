import { type Kysely, sql } from "kysely";

/**
 * The default operator class finds the beginning of a value only with the collation C. With any other collation of the database, each
 * statement that deletes the verifications of a subject with details read the whole table. The new index finds equal values too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index verifications_by_value on verifications (value text_pattern_ops)`.execute(db);
  await sql`drop index verifications_value`.execute(db);
}

import { type Kysely, sql } from "kysely";

/** `reject_outdated_batch` makes a statement that counts verifications fail, so that it counts none of them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function reject_outdated_batch() returns float8 language plpgsql as $body$
    begin
      raise serialization_failure using message = 'a key or its owner has changed since the node read it';
    end $body$`.execute(db);
}

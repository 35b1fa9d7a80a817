import { type Kysely, sql } from "kysely";

/** What a workspace is for. Earlier versions insert workspaces without a description, so the column has a default. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column description text not null default ''`.execute(db);
}

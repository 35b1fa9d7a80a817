import { type Kysely, sql } from "kysely";

/**
 * An operator can disable a workspace. Admission reads whether it is. The version of the workspace as an owner of issued
 * keys is in `owner_versions`, where a workspace that was never disabled has no row.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column disabled_at timestamptz`.execute(db);
  await sql`grant select (disabled_at) on workspaces to latchkey_admission`.execute(db);
}

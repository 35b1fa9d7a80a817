import { type Kysely, sql } from "kysely";

/**
 * Makes statistics of a workspace about ten times as fast: 0.2 s instead of 2 s for 90 days of 100 keys. Postgres
 * evaluates permissive policies in the reverse order of their names. With `named_workspace`, it first calls
 * `is_own_key`, which runs a query, for every row. With this policy, it first compares the workspace. The former policy
 * stays, because versions that expect it may still run.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create policy workspace_uses on key_usage_hours for select to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
}

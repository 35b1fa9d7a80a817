import { type Kysely, sql } from "kysely";

/** Every earlier version runs without the constraint, as without those of the migration before. */
export const compatibleFrom = "0001-ground-floor";

/** The deletion of a webhook leaves its deliveries to the purge, as that of a workspace does (docs/decisions/0087). */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  await sql`
    create table deleted_webhooks (
      workspace_id uuid not null,
      id uuid not null,
      deleted_at timestamptz not null default clock_timestamp(),
      next_purge_at timestamptz not null default clock_timestamp(),
      primary key (workspace_id, id)
    )`.execute(db);
  await sql`alter table deleted_webhooks enable row level security`.execute(db);
  await sql`alter table deleted_webhooks force row level security`.execute(db);
  await sql`
    create policy named_workspace on deleted_webhooks to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create policy backup on deleted_webhooks for select to pg_database_owner using (require_backup())`.execute(
    db,
  );
  await sql`
    create policy admission on deleted_webhooks for select to latchkey_admission using (true)`.execute(db);
  await sql`
    grant select, insert, delete, update (next_purge_at) on deleted_webhooks to latchkey_tenant`.execute(db);
  await sql`grant select on deleted_webhooks to latchkey_admission`.execute(db);
  await sql`
    create function record_deleted_webhook() returns trigger
    language plpgsql as $body$
    begin
      insert into ${sql.id(schema, "deleted_webhooks")} (workspace_id, id) values (old.workspace_id, old.id);
      return null;
    end $body$`.execute(db);
  // Not for a cascade from `workspaces`: it runs as the owner of the table, who can't insert under forced row-level security, and the
  // record of the workspace covers all of its deliveries.
  await sql`
    create trigger record_deleted_webhook after delete on webhooks for each row
      when (pg_trigger_depth() = 0) execute function record_deleted_webhook()`.execute(db);
  await sql`
    alter table webhook_deliveries drop constraint webhook_deliveries_workspace_id_webhook_id_fkey`.execute(
    db,
  );
}

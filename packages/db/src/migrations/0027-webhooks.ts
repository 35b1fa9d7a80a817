import { type Kysely, sql } from "kysely";

/** Webhooks of a workspace, and the deliveries of its audit events to them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhooks (
      workspace_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      url text not null,
      description text not null default '',
      actions text[],
      secret bytea not null,
      former_secret bytea,
      former_secret_expires_at timestamptz,
      disabled_at timestamptz,
      disabled_reason text check (disabled_reason in ('user', 'failures', 'gone')),
      failing_since timestamptz,
      created_at timestamptz not null default clock_timestamp(),
      version integer not null default 1,
      primary key (workspace_id, id),
      check ((disabled_at is null) = (disabled_reason is null)),
      check ((former_secret is null) = (former_secret_expires_at is null))
    )`.execute(db);
  await sql`
    create table webhook_deliveries (
      workspace_id uuid not null,
      id uuid not null,
      webhook_id uuid not null,
      event_id uuid,
      action text not null,
      status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
      attempt_count integer not null default 0,
      attempts jsonb not null default '[]',
      next_attempt_at timestamptz,
      created_at timestamptz not null default clock_timestamp(),
      primary key (workspace_id, id),
      foreign key (workspace_id, webhook_id) references webhooks on delete cascade
    )`.execute(db);
  await sql`
    create index webhook_deliveries_webhook on webhook_deliveries (workspace_id, webhook_id, created_at, id)`.execute(
    db,
  );
  await sql`create index webhook_deliveries_created on webhook_deliveries (workspace_id, created_at)`.execute(
    db,
  );
  for (const table of ["webhooks", "webhook_deliveries"]) {
    const name = sql.table(table);
    await sql`alter table ${name} enable row level security`.execute(db);
    await sql`alter table ${name} force row level security`.execute(db);
    await sql`
      create policy named_workspace on ${name} to latchkey_tenant
      using (workspace_id = named_workspace())`.execute(db);
    await sql`
      create policy backup on ${name} for select to pg_database_owner
      using (require_backup())`.execute(db);
    await sql`grant select, insert, update, delete on ${name} to latchkey_tenant`.execute(db);
  }
  // Jobs of one queue run one after the other, so that a slow receiver occupies one job at a time on all nodes.
  await sql`
    create function add_queued_job(task text, payload json, key text, max_attempts integer, queue text) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      perform graphile_worker.add_job(
        task, payload => payload, job_key => key, max_attempts => max_attempts, queue_name => queue);
    end $body$`.execute(db);
  await sql`revoke all on function add_queued_job(text, json, text, integer, text) from public`.execute(db);
  await sql`
    grant execute on function add_queued_job(text, json, text, integer, text)
    to latchkey_tenant, latchkey_admission`.execute(db);
}

import { type Kysely, sql } from "kysely";

/** What the overview of a workspace reads, and the security log of a user. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index key_usage_hours_workspace_id on key_usage_hours (workspace_id, hour)
      where workspace_id is not null`.execute(db);
  // Requests are recorded with a workspace only after the owner of the key was found to be a member of it.
  await sql`
    create policy named_workspace on key_usage_hours for select to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create table security_events (
      user_id uuid not null references users on delete cascade,
      id uuid not null,
      occurred_at timestamptz not null default clock_timestamp(),
      action text not null,
      actor_kind text not null check (actor_kind in ('session', 'key', 'command')),
      actor_key_id uuid,
      key_id uuid,
      before jsonb,
      after jsonb,
      address text,
      request_id text,
      primary key (user_id, id)
    )`.execute(db);
  await sql`
    create index security_events_in_order on security_events (user_id, occurred_at, id)`.execute(db);
  await sql`grant select, insert on security_events to latchkey_tenant`.execute(db);
}

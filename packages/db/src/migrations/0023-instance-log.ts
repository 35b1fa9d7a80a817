import { type Kysely, sql } from "kysely";

/**
 * The instance log, which records what operators do and outlives the users and workspaces that it is about, and the
 * index that allowed only one operator. Every earlier version runs without that index: the trigger of `users` makes only
 * the first user an operator.
 */
export const compatibleFrom = "0001-ground-floor";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index if exists users_one_operator`.execute(db);
  await sql`create index users_operators on users (id) where is_operator`.execute(db);
  // Names are stored by value, and IDs without foreign keys, so that events survive what they are about.
  await sql`
    create table instance_events (
      id uuid primary key,
      occurred_at timestamptz not null default clock_timestamp(),
      action text not null,
      actor_kind text not null check (actor_kind in ('session', 'key', 'command', 'configuration')),
      actor_id uuid,
      actor_name text,
      actor_email text,
      target_user_id uuid,
      target_user_name text,
      target_user_email text,
      target_workspace_id uuid,
      target_workspace_name text,
      target_key_id uuid,
      before jsonb,
      after jsonb,
      address text,
      request_id text
    )`.execute(db);
  for (const [name, columns] of [
    ["instance_events_in_order", "occurred_at, id"],
    ["instance_events_by_action", "action, occurred_at, id"],
    ["instance_events_by_actor", "actor_id, occurred_at, id"],
    ["instance_events_by_user", "target_user_id, occurred_at, id"],
    ["instance_events_by_workspace", "target_workspace_id, occurred_at, id"],
  ] as const) {
    await sql`create index ${sql.ref(name)} on instance_events (${sql.raw(columns)})`.execute(db);
  }
  await sql`grant select, insert, delete on instance_events to latchkey_tenant`.execute(db);
}

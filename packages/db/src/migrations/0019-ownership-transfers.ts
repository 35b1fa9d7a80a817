import { type Kysely, sql } from "kysely";

/** Pending offers of the ownership of workspaces, and the names of deleted users. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createOwnershipTransfers(db);
  await createFormerUsers(db);
}

/** The foreign keys to members delete an offer as soon as either user is no longer a member. */
async function createOwnershipTransfers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table ownership_transfers (
      workspace_id uuid primary key references workspaces on delete cascade,
      from_user_id uuid not null,
      to_user_id uuid not null check (to_user_id <> from_user_id),
      created_at timestamptz not null default clock_timestamp(),
      expires_at timestamptz not null,
      foreign key (workspace_id, from_user_id) references members (workspace_id, user_id) on delete cascade,
      foreign key (workspace_id, to_user_id) references members (workspace_id, user_id) on delete cascade
    )`.execute(db);
  for (const column of ["from_user_id", "to_user_id"]) {
    await sql`
      create index ${sql.id(`ownership_transfers_${column}`)}
      on ownership_transfers (workspace_id, ${sql.id(column)})`.execute(db);
  }
  await sql`alter table ownership_transfers enable row level security`.execute(db);
  await sql`alter table ownership_transfers force row level security`.execute(db);
  await sql`
    create policy named_workspace on ownership_transfers to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create policy backup on ownership_transfers for select to pg_database_owner
    using (require_backup())`.execute(db);
  await sql`grant select, insert, delete on ownership_transfers to latchkey_tenant`.execute(db);
}

/** Audit logs show these names. Nothing else is kept of a deleted user. */
async function createFormerUsers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table former_users (
      id uuid primary key,
      name text not null,
      deleted_at timestamptz not null default clock_timestamp()
    )`.execute(db);
  await sql`grant select, insert on former_users to latchkey_tenant`.execute(db);
}

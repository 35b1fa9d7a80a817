import { type Kysely, sql } from "kysely";

/** Invitations to a workspace. The token of an invitation's link is a verification. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table invitations (
      workspace_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      email text not null check (email = lower(email)),
      role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
      invited_by uuid references users on delete cascade,
      is_emailed boolean not null,
      created_at timestamptz not null default clock_timestamp(),
      expires_at timestamptz not null,
      primary key (workspace_id, id),
      unique (workspace_id, email)
    )`.execute(db);
  await sql`create index invitations_invited_by on invitations (invited_by)`.execute(db);
  // Finds the link of an invitation, or of a user's password, to replace it.
  await sql`create index verifications_value on verifications (value)`.execute(db);
  await sql`alter table invitations enable row level security`.execute(db);
  await sql`alter table invitations force row level security`.execute(db);
  await sql`
    create policy named_workspace on invitations to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create policy backup on invitations for select to pg_database_owner
    using (require_backup())`.execute(db);
  await sql`grant select, insert, update, delete on invitations to latchkey_tenant`.execute(db);
}

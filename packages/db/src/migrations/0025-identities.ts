import { type Kysely, sql } from "kysely";

/** Identities of users at an OpenID provider. A user has at most one at each provider. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table identities (
      issuer text not null,
      subject text not null,
      user_id uuid not null references users on delete cascade,
      email text,
      created_at timestamptz not null default clock_timestamp(),
      last_used_at timestamptz,
      primary key (issuer, subject),
      unique (user_id, issuer)
    )`.execute(db);
  await sql`grant select, insert, update, delete on identities to latchkey_tenant`.execute(db);
}

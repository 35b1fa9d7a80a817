import { type Kysely, sql } from "kysely";

/**
 * Whether the instance sends email, so that every process that adds jobs can tell, including the command. And an index that
 * finds the notices about a key, whoever got them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table instance_settings (
      is_only_row boolean primary key default true check (is_only_row),
      sends_email boolean not null
    )`.execute(db);
  await sql`create index notices_subject on notices (kind, subject)`.execute(db);
  await sql`grant select on instance_settings to latchkey_tenant`.execute(db);
}

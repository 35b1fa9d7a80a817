import { sql } from "kysely";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import type { Trx } from "./schema.ts";

/**
 * SQL for whether the instance sends email, as the node that started last recorded it. True until a node has recorded
 * it, so that no email is lost.
 */
export const sendsEmail = sql<boolean>`coalesce((select sends_email from instance_settings), true)`;

/** Whether a job that sends email would run. Read from the database, because the `latchkey` command may run without `SMTP_URL`. */
export async function willSendEmail(trx: Trx): Promise<boolean> {
  const { rows } = await sql<{ sendsEmail: boolean }>`select ${sendsEmail} as "sendsEmail"`.execute(trx);
  return rows[0]?.sendsEmail ?? true;
}

/**
 * Records whether the instance sends email, at the start of a node. If it doesn't, discards the emails that are due:
 * no job would send them, and they would be sent when the operator configures an SMTP server later.
 */
export async function recordEmailSetting(connection: DatabaseConnection, isSent: boolean): Promise<void> {
  const options = { applicationName: "latchkey start", maxConnections: 1 } as const;
  // Only the login role can see the jobs.
  const db = openDatabase(connection, { ...options, role: "login" });
  try {
    await db.transaction().execute(async (trx) => {
      await sql`
        insert into instance_settings (sends_email) values (${isSent})
        on conflict (is_only_row) do update set sends_email = excluded.sends_email
        where instance_settings.sends_email <> excluded.sends_email`.execute(trx);
      if (isSent) return;
      await sql`
        select graphile_worker.complete_jobs(
          array(select id from graphile_worker.jobs where task_identifier like 'send-%'))`.execute(trx);
      await sql`update notices set is_email_due = false where is_email_due`.execute(trx);
    });
  } finally {
    await db.destroy();
  }
}

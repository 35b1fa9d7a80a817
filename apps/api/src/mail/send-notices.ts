import type { UserId } from "@latchkey/db/ids";
import { addEmailJob, claimNotice, releaseNotice } from "@latchkey/db/notices";
import type { Db } from "@latchkey/db/schema";
import type { Mailer } from "./mailer.ts";
import { noticeMail } from "./mails.ts";

/** The most emails per job, so that the job ends within a few minutes even if the SMTP server is slow. */
const maxPerJob = 5;

/**
 * Emails the notices of a user that are due. A notice is claimed first, so that concurrent jobs don't send it twice.
 * @throws if the server doesn't accept an email; the notice is due again, after the others, and the job is to be repeated.
 */
export async function sendNotices(
  {
    db,
    mailer,
    baseUrl,
  }: { readonly db: Db; readonly mailer: Pick<Mailer, "send">; readonly baseUrl: string },
  userId: UserId,
): Promise<void> {
  for (let count = 0; count < maxPerJob; count += 1) {
    const claimed = await claimNotice(db, userId);
    if (!claimed) return;
    const { notice, email, name } = claimed;
    try {
      await mailer.send({ ...noticeMail({ email, name }, notice, baseUrl), id: `notice-${notice.id}` });
    } catch (error) {
      await releaseNotice(db, notice.id, "failed");
      throw error;
    }
    await releaseNotice(db, notice.id, "sent");
  }
  await db.transaction().execute((trx) => addEmailJob(trx, userId));
}

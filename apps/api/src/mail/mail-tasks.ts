import type { JobName, JobTasks } from "@latchkey/db/job";
import type { Db } from "@latchkey/db/schema";
import { findUser } from "@latchkey/db/users";
import { prepareEmailChange } from "../domain/email-change.ts";
import { prepareVerificationEmail } from "../domain/email-verification.ts";
import { prepareInvitationEmail } from "../domain/invitation-jobs.ts";
import { prepareResetEmail, recordResetEmail } from "../domain/password-reset.ts";
import type { Mailer } from "./mailer.ts";
import { emailChangedMail, emailChangeMail, invitationMail, resetMail, verificationMail } from "./mails.ts";
import { sendNotices } from "./send-notices.ts";

interface MailTasksOptions {
  readonly db: Db;
  readonly mailer: Pick<Mailer, "send">;
  readonly baseUrl: string;
}

type MailJob = Extract<JobName, `send-${string}`>;

/**
 * The jobs that send email. An email with a link has no ID: each attempt creates a new link and invalidates the former one,
 * so a receiver that discarded the repetition would keep a link that doesn't work.
 */
export function createMailTasks({ db, mailer, baseUrl }: MailTasksOptions): Pick<JobTasks, MailJob> {
  return {
    async "send-invitation"(payload) {
      const invitation = await prepareInvitationEmail(db, payload, baseUrl);
      if (invitation) await mailer.send(invitationMail(invitation, { url: invitation.url, baseUrl }));
    },
    async "send-reset-link"(payload) {
      const { email } = payload;
      const account = await prepareResetEmail(db, email, baseUrl);
      if (!account) return;
      const { name, url, removesAccess } = account;
      await mailer.send(resetMail({ email, name, removesAccess }, { url, baseUrl }));
      await recordResetEmail(db, account.userId, payload);
    },
    async "send-verification-link"({ userId }) {
      const account = await prepareVerificationEmail(db, userId, baseUrl);
      if (account) await mailer.send(verificationMail(account, { url: account.url, baseUrl }));
    },
    async "send-email-change"(payload) {
      const url = await prepareEmailChange(db, payload, baseUrl);
      if (url !== undefined) await mailer.send(emailChangeMail(payload, { url, baseUrl }));
    },
    async "send-notices"({ userId }) {
      await sendNotices({ db, mailer, baseUrl }, userId);
    },
    async "send-email-changed"({ userId, email }, jobId) {
      if (!(await findUser(db, userId))) return;
      const mail = emailChangedMail({ email }, baseUrl);
      await mailer.send({ ...mail, id: `email-changed-${jobId}` });
    },
  };
}

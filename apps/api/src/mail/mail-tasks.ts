import type { JobTasks } from "@latchkey/db/job";
import type { Db } from "@latchkey/db/schema";
import { prepareInvitationEmail } from "../domain/invitations.ts";
import { prepareResetEmail } from "../domain/password-reset.ts";
import type { Mailer } from "./mailer.ts";
import { invitationMail, resetMail } from "./mails.ts";

interface MailTasksOptions {
  readonly db: Db;
  readonly mailer: Pick<Mailer, "send">;
  readonly baseUrl: string;
}

/** The jobs that send email. */
export function createMailTasks({ db, mailer, baseUrl }: MailTasksOptions): JobTasks {
  return {
    async "send-invitation"(payload) {
      const invitation = await prepareInvitationEmail(db, payload, baseUrl);
      if (invitation) await mailer.send(invitationMail(invitation, { url: invitation.url, baseUrl }));
    },
    async "send-reset-link"(payload) {
      const account = await prepareResetEmail(db, payload, baseUrl);
      if (!account) return;
      const { name, url } = account;
      await mailer.send(resetMail({ email: payload.email, name }, { url, baseUrl }));
    },
  };
}

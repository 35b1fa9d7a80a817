import type { NoticeContent } from "@latchkey/db/notice-kinds";
import type { Role } from "@latchkey/db/role";
import { writeMessage } from "@latchkey/errors/message";
import { describeNotice } from "../domain/notice-texts.ts";
import { withArticle } from "../domain/with-article.ts";
import type { Mail } from "./mailer.ts";

/** The email with the link of an invitation. */
export function invitationMail(
  invitation: {
    readonly email: string;
    readonly role: Role;
    readonly workspaceName: string;
    readonly inviterName: string | null;
    readonly expiresAt: Date;
  },
  link: { readonly url: string; readonly baseUrl: string },
): Mail {
  const { email, role, workspaceName, inviterName, expiresAt } = invitation;
  return {
    to: email,
    subject: `Invitation to ${workspaceName}`,
    text: [
      `${inviterName ?? "The operator"} invited you to join the workspace “${workspaceName}” on Latchkey (${link.baseUrl}) as ${withArticle(role)}.`,
      writeMessage([
        "To join, open this link before ",
        { time: expiresAt.toISOString() },
        `. It works once:\n${link.url}`,
      ]),
      "If you didn't expect this invitation, ignore this email.",
    ],
  };
}

/**
 * The email with a link that verifies the email address of an account. It doesn't have the name of the account. No email about an
 * account to its unverified address does: anybody can sign up with any email address, and with a name that lures its owner.
 */
export function verificationMail(
  account: { readonly email: string },
  link: { readonly url: string; readonly baseUrl: string },
): Mail {
  return {
    to: account.email,
    subject: "Verify your email address",
    text: [
      "Hello,",
      `This email address is used by an account on Latchkey (${link.baseUrl}). To verify it, sign in, and open this link within 24 hours. It works once:\n${link.url}`,
      "If you didn't create this account, ignore this email, and don't open the link.",
    ],
  };
}

/** The email with a password reset link. */
export function resetMail(
  account: {
    readonly email: string;
    readonly name: string;
    /** Whether choosing a new password deletes what gives access to the account, because its email address is unverified. */
    readonly removesAccess: boolean;
  },
  link: { readonly url: string; readonly baseUrl: string },
): Mail {
  return {
    to: account.email,
    subject: "Choose a new password",
    text: [
      account.removesAccess ? "Hello," : `Hello ${account.name},`,
      `Someone requested a password reset for your account on Latchkey (${link.baseUrl}). To choose a new password, open this link within an hour. It works once:\n${link.url}`,
      ...(account.removesAccess
        ? [
            "The email address of this account has not been verified, so somebody else may have created it. A new password therefore also deletes its API keys, second factors and linked sign-in methods, and verifies the email address. Afterwards, check the members, service accounts, webhooks and invitations of the account's workspaces.",
          ]
        : []),
      "If you didn't request this, ignore this email. Your password won't change.",
    ],
  };
}

/** The email with a link that confirms a new email address. */
export function emailChangeMail(
  account: { readonly email: string },
  link: { readonly url: string; readonly baseUrl: string },
): Mail {
  return {
    to: account.email,
    subject: "Confirm your new email address",
    text: [
      "Hello,",
      `To use this email address for your account on Latchkey (${link.baseUrl}), sign in to the account, and open this link within an hour. It works once:\n${link.url}`,
      "If you didn't request this, ignore this email. Nothing will change.",
    ],
  };
}

/** The notice to the former email address of an account, which may be unverified. */
export function emailChangedMail(account: { readonly email: string }, baseUrl: string): Mail {
  return {
    to: account.email,
    subject: "Your email address was changed",
    text: [
      "Hello,",
      `The email address of your account on Latchkey (${baseUrl}) was changed. You can no longer sign in with this email address.`,
      "If you didn't do this, contact the operator of this instance immediately.",
    ],
  };
}

/** A notice to a user. */
export function noticeMail(
  account: { readonly email: string; readonly name: string },
  notice: NoticeContent,
  baseUrl: string,
): Mail {
  const { title, message } = describeNotice(notice);
  return {
    to: account.email,
    subject: title,
    text: [
      `Hello ${account.name},`,
      writeMessage(message),
      `To see your notices, or to choose which ones are emailed, open ${baseUrl}/account/notices.`,
    ],
  };
}

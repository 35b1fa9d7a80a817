import type { NoticeContent, NoticedKey, NoticedQuota, NoticeFactsByKind } from "@latchkey/db/notice-kinds";
import type { Message } from "@latchkey/errors/message";
import { withArticle } from "./with-article.ts";

/** What a notice says, in the app and by email. */
export interface NoticeText {
  readonly title: string;
  /** What happened and what to do, in one or two sentences. */
  readonly message: Message;
}

export function describeNotice({ kind, facts }: NoticeContent): NoticeText {
  switch (kind) {
    case "invitation":
      return {
        title: `Invitation to ${facts.workspaceName}`,
        message: [
          `${facts.inviterName ?? "The operator"} invited you to join the workspace “${facts.workspaceName}” as ${withArticle(facts.role)}. Open the link in the invitation to join.`,
        ],
      };
    case "role-changed":
      return {
        title: `Your role in ${facts.workspaceName} changed`,
        message: [
          `Your role in the workspace “${facts.workspaceName}” changed from ${facts.formerRole} to ${facts.role}. Your API keys now have the new role’s permissions in this workspace.`,
        ],
      };
    case "key-expires-in-7-days":
    case "key-expires-in-1-day": {
      const period = kind === "key-expires-in-1-day" ? "1 day" : "7 days";
      return {
        title: `API key “${facts.keyName}” expires within ${period}`,
        message: [
          `Requests with ${nameOf(facts)} are rejected from `,
          { time: facts.expiresAt },
          ". To keep using it, change its expiry.",
        ],
      };
    }
    case "former-secret-used":
      return {
        title: `Old secret of “${facts.keyName}” used`,
        message: [
          `A request${fromIpAddress(facts.address)} with an old secret of ${nameOf(facts)} was rejected, because that secret is no longer valid. If you don’t recognize the request, someone else may have the old secret. Otherwise, give the client the current secret.`,
        ],
      };
    case "new-network":
      return {
        title: `API key “${facts.keyName}” used from a new network`,
        message: [
          `${capitalize(nameOf(facts))} was used from the network ${facts.network} for the first time. If you don’t recognize this network, rotate the key.`,
        ],
      };
    case "new-device":
      return {
        title: "Sign-in from a new device",
        message: [
          `Someone signed in to your account with ${facts.device}${fromIpAddress(facts.address)}. If it wasn’t you, change your password and end the session.`,
        ],
      };
    case "quota-nearly-reached": {
      const { subject, remedy } = quotaTexts[facts.quota];
      const where = describeQuotaOwner(facts);
      return {
        title: `Quota for ${subject} nearly reached`,
        message: [
          `${where} `,
          { count: facts.count },
          " of at most ",
          { count: facts.limit },
          ` ${subject}. ${remedy}, or ask the operator to raise the quota.`,
        ],
      };
    }
  }
}

const quotaTexts: Readonly<Record<NoticedQuota, { readonly subject: string; readonly remedy: string }>> = {
  keysPerUser: { subject: "API keys", remedy: "Delete keys that are no longer used" },
  workspacesPerUser: { subject: "workspaces", remedy: "Delete workspaces that are no longer used" },
  membersPerWorkspace: { subject: "members", remedy: "Remove members who no longer need access" },
  serviceAccountsPerWorkspace: {
    subject: "service accounts",
    remedy: "Delete service accounts that are no longer used",
  },
  invitationsPerWorkspace: { subject: "invitations", remedy: "Revoke invitations that are no longer needed" },
  webhooksPerWorkspace: { subject: "webhooks", remedy: "Delete webhooks that are no longer used" },
  issuedKeysPerWorkspace: { subject: "issued keys", remedy: "Delete keys that are no longer used" },
  keyspacesPerWorkspace: { subject: "keyspaces", remedy: "Delete keyspaces that are no longer used" },
};

function describeQuotaOwner({
  serviceAccount,
  workspaceName,
}: NoticeFactsByKind["quota-nearly-reached"]): string {
  if (workspaceName === null) return "You have";
  const workspace = `workspace “${workspaceName}”`;
  return serviceAccount
    ? `The service account “${serviceAccount.name}” of the ${workspace} has`
    : `The ${workspace} has`;
}

/** A key, and the service account that it belongs to, if it is not the user's. */
function nameOf({ keyName, serviceAccount }: NoticedKey): string {
  const owner = serviceAccount ? ` of the service account “${serviceAccount.name}”` : "";
  return `the API key “${keyName}”${owner}`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function fromIpAddress(ipAddress: string | null): string {
  return ipAddress === null ? "" : ` from ${ipAddress}`;
}

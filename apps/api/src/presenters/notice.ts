import { encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { noticeKinds } from "@latchkey/db/notice-kinds";
import type { Notice } from "@latchkey/db/notices";
import { writeMessage } from "@latchkey/errors/message";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { describeNotice } from "../domain/notice-texts.ts";
import { shownId, shownText, timestamp } from "../schemas.ts";

/** A notice of the owner of a key. */
export const notice = z
  .object({
    id: shownId("notice"),
    kind: z.enum(noticeKinds).meta({ description: "What happened.", example: "key-expires-in-7-days" }),
    title: shownText(maxLength.noticeTitle).meta({ example: "API key “CI deploys” expires within 7 days" }),
    message: shownText(maxLength.noticeMessage).meta({
      description: "What happened and what to do, in English.",
      example:
        "Requests with the API key “CI deploys” are rejected from March 1, 2026 at 9:30 AM UTC. To keep using it, change its expiry.",
    }),
    keyId: shownId("key").nullable().meta({ description: "The API key that the notice is about, if any." }),
    workspaceId: shownId("workspace")
      .nullable()
      .meta({ description: "The workspace that the notice is about, if any.", example: null }),
    isRead: z.boolean().meta({ example: false }),
    createdAt: timestamp,
  })
  .meta({ id: "Notice" });

export function presentNotice(shown: Notice): z.input<typeof notice> {
  const { facts } = shown;
  const { title, message } = describeNotice(shown);
  return {
    id: encodeId("notice", shown.id),
    kind: shown.kind,
    title,
    message: writeMessage(message),
    keyId: "keyId" in facts ? encodeId("key", facts.keyId) : null,
    workspaceId:
      "workspaceId" in facts && facts.workspaceId ? encodeId("workspace", facts.workspaceId) : null,
    isRead: shown.readAt !== null,
    createdAt: shown.createdAt.toISOString(),
  };
}

/** A notice of the user, for the web app, which formats the pieces of its message for the reader. */
export function presentLinkedNotice(shown: Notice) {
  return { ...presentNotice(shown), pieces: describeNotice(shown).message, link: linkOf(shown) };
}

/** The page of a workspace that shows what a quota limits. */
const quotaPages = {
  membersPerWorkspace: "members",
  serviceAccountsPerWorkspace: "service-accounts",
  invitationsPerWorkspace: "invitations",
  webhooksPerWorkspace: "webhooks",
  keyspacesPerWorkspace: "workspace",
  issuedKeysPerWorkspace: "workspace",
} as const;

/** What a notice is about; null for what has no page, such as an invitation. */
export type NoticeLink =
  | { readonly to: "key"; readonly keyId: string }
  | { readonly to: "service-account"; readonly workspaceId: string; readonly userId: string }
  | {
      readonly to: "workspace" | (typeof quotaPages)[keyof typeof quotaPages];
      readonly workspaceId: string;
    }
  | { readonly to: "keys" | "security" }
  | null;

function serviceAccountLink(id: UserId, workspaceId: WorkspaceId): NoticeLink {
  return {
    to: "service-account",
    workspaceId: encodeId("workspace", workspaceId),
    userId: encodeId("user", id),
  };
}

function linkOf({ kind, facts }: Notice): NoticeLink {
  switch (kind) {
    case "invitation":
      return null;
    case "role-changed":
      return { to: "workspace", workspaceId: encodeId("workspace", facts.workspaceId) };
    case "key-expires-in-7-days":
    case "key-expires-in-1-day":
    case "former-secret-used":
    case "new-network":
      return facts.serviceAccount && facts.workspaceId
        ? serviceAccountLink(facts.serviceAccount.id, facts.workspaceId)
        : { to: "key", keyId: encodeId("key", facts.keyId) };
    case "new-device":
      return { to: "security" };
    case "quota-nearly-reached":
      if (facts.serviceAccount && facts.workspaceId)
        return serviceAccountLink(facts.serviceAccount.id, facts.workspaceId);
      if (facts.quota === "keysPerUser") return { to: "keys" };
      if (facts.quota === "workspacesPerUser" || facts.workspaceId === null) return null;
      return { to: quotaPages[facts.quota], workspaceId: encodeId("workspace", facts.workspaceId) };
  }
}

import { encodeId } from "@latchkey/db/ids";
import type { Notice } from "@latchkey/db/notices";
import { describeNotice } from "../domain/notice-texts.ts";

/** A notice of the user, for the web app. */
export function presentNotice(notice: Notice) {
  return {
    id: encodeId("notice", notice.id),
    kind: notice.kind,
    ...describeNotice(notice),
    link: linkOf(notice),
    createdAt: notice.createdAt.toISOString(),
    isRead: notice.readAt !== null,
  };
}

/** What a notice is about; null for what has no page, such as an invitation. */
export type NoticeLink =
  | { readonly to: "key"; readonly keyId: string }
  | { readonly to: "workspace" | "members"; readonly workspaceId: string }
  | { readonly to: "keys" | "security" }
  | null;

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
      return { to: "key", keyId: encodeId("key", facts.keyId) };
    case "new-device":
      return { to: "security" };
    case "quota-nearly-reached":
      if (facts.quota === "keysPerUser") return { to: "keys" };
      return facts.workspaceId === null
        ? null
        : { to: "members", workspaceId: encodeId("workspace", facts.workspaceId) };
  }
}

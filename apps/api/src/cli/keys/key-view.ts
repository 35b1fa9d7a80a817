import type { ApiKeyWithOwner } from "@latchkey/db/api-keys";
import { encodeId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { presentKey } from "../../presenters/api-key.ts";
import { formatTime } from "../format.ts";
import type { View } from "../result.ts";

/** A key in the command's JSON: as in the open API, with its owner. */
export type PresentedKey = ReturnType<typeof presentOwnedKey>;

export function presentOwnedKey(key: ApiKeyWithOwner) {
  return { ...presentKey(key), userId: encodeId("user", key.userId) };
}

/** A restriction in the format of its option. */
export function formatLimit(limit: KeySettings["limit"]): string {
  return limit ? `${limit.quota}/${limit.windowSeconds}s` : "none";
}

/** Whether a presented key has expired, by the clock of the command. */
export function isExpired({ expiresAt }: Pick<PresentedKey, "expiresAt">): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now();
}

function statusOf(key: PresentedKey): string {
  if (key.isDisabled) return "disabled";
  return isExpired(key) ? "expired" : "active";
}

const formatExpiry = ({ expiresAt }: PresentedKey): string => (expiresAt ? formatTime(expiresAt) : "never");

/** The first characters of a secret, which are empty for some imported keys. */
export const formatStart = (start: string): string => (start === "" ? "unknown (imported key)" : `${start}…`);

export function formatFormerSecrets({
  formerSecrets,
}: {
  readonly formerSecrets: readonly { readonly start: string; readonly goodUntil: string }[];
}): string {
  const lines = formerSecrets.map(
    ({ start, goodUntil }) => `${formatStart(start)} until ${formatTime(goodUntil)}`,
  );
  return lines.join("\n") || "none";
}

export const keyView: View<PresentedKey> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Status", text: statusOf },
  { label: "Owner", text: ({ userId }) => userId },
  { label: "Secret", text: ({ start }) => formatStart(start) },
  { label: "Created", text: ({ createdAt }) => formatTime(createdAt), isDetail: true },
  { label: "Expires", text: formatExpiry },
  { label: "Last used", text: ({ lastUsedAt }) => (lastUsedAt ? formatTime(lastUsedAt) : "never") },
  { label: "Uses", text: ({ usageCount }) => String(usageCount) },
  { label: "Rate limit", text: ({ limit }) => formatLimit(limit), isDetail: true },
  { label: "Workspaces", text: ({ workspaceIds }) => workspaceIds?.join("\n") ?? "all", isDetail: true },
  { label: "Permissions", text: ({ permissions }) => permissions?.join("\n") ?? "all", isDetail: true },
  { label: "Read-only", text: ({ isReadOnly }) => (isReadOnly ? "yes" : "no"), isDetail: true },
  { label: "IP ranges", text: ({ ipRanges }) => ipRanges?.join("\n") ?? "any", isDetail: true },
  { label: "Old secrets", text: formatFormerSecrets, isDetail: true },
  { label: "Name", text: ({ name }) => name },
  { label: "Description", text: ({ description }) => description || "none", isDetail: true },
];

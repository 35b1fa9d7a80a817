import { encodeId } from "@latchkey/db/ids";
import type { IssuedKeyWithSecret } from "../../domain/issued-keys.ts";
import type { presentIssuedKey } from "../../presenters/issued-key.ts";
import { formatTime } from "../format.ts";
import { formatFormerSecrets, formatStart } from "../keys/key-view.ts";
import { secretResult } from "../keys/secret-result.ts";
import type { ItemResult, View } from "../result.ts";

export const issuedKeyView: View<ReturnType<typeof presentIssuedKey>> = [
  { label: "ID", text: ({ id }) => id },
  { label: "Status", text: ({ status }) => status },
  { label: "Keyspace ID", text: ({ keyspaceId }) => keyspaceId },
  { label: "Secret", text: ({ start }) => formatStart(start) },
  { label: "Old secrets", text: formatFormerSecrets },
  { label: "External ID", text: ({ externalId }) => externalId ?? "none" },
  { label: "Expires", text: ({ expiresAt }) => (expiresAt ? formatTime(expiresAt) : "never") },
  { label: "Last used", text: ({ lastUsedAt }) => (lastUsedAt ? formatTime(lastUsedAt) : "never") },
  { label: "Uses", text: ({ usageCount }) => String(usageCount) },
  { label: "Permissions", text: ({ permissions }) => permissions.join("\n") || "none" },
  { label: "Credits", text: ({ credits }) => (credits ? String(credits.remaining) : "unlimited") },
  { label: "Name", text: ({ name }) => name || "none" },
];

/** An issued key with its secret, which only this result contains. */
export function issuedSecretResult({ issuedKey: { id }, secret }: IssuedKeyWithSecret): ItemResult {
  return secretResult(encodeId("issuedKey", id), secret);
}

import { appendAudit } from "@latchkey/db/audit-events";
import { readClock } from "@latchkey/db/clock";
import { countConsumers } from "@latchkey/db/consumers";
import type { ConsumerId, KeyspaceId } from "@latchkey/db/ids";
import {
  type CountedConsumer,
  findKnownSecrets,
  findOrCreateConsumers,
  type ImportedKey,
  insertImportedKeys,
  type KnownSecret,
} from "@latchkey/db/issued-key-import";
import { countIssuedKeys } from "@latchkey/db/issued-keys";
import type { Keyspace } from "@latchkey/db/keyspaces";
import type { Trx } from "@latchkey/db/schema";
import type { RejectedRow } from "@latchkey/key-file/locate-rejected";
import { issuedKeyLimits } from "@latchkey/limits";
import type { Edit } from "./enter-for-edit.ts";
import { enterKeyspace } from "./issued-key-edits.ts";
import { chooseExpiry, chooseSettings, type IssuedKeyRequest } from "./issued-keys.ts";
import { toExpiryTime } from "./key-expiry.ts";
import { type Quotas, requireConsumerQuota, requireQuota } from "./quotas.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

/** A row of a file with keys. */
export interface ImportRow {
  readonly line: number;
  /** SHA-256 of the whole key, 32 bytes. */
  readonly hash: Buffer;
  /** The first characters of the key; empty if they aren't known. */
  readonly start: string;
  readonly request: IssuedKeyRequest;
}

export interface ImportResult {
  readonly imported: number;
  /** Rows whose key the keyspace already has. Their settings stay as they are. */
  readonly existing: number;
  readonly rejected: readonly RejectedRow[];
}

/** The most rows of one call, so that no transaction takes long. */
export const maxImportRows = 1_000;

/**
 * Imports keys that another system issued, by their SHA-256. A repeated import changes nothing, except that it imports
 * keys that were deleted since, so an import that was interrupted is repeated from the beginning.
 * @throws {AppError} NOT_FOUND, FORBIDDEN; UNPROCESSABLE_CONTENT if the rows exceed a quota. Nothing was imported then.
 */
export async function importIssuedKeys(
  trx: Trx,
  edit: Edit,
  { keyspaceId, rows }: { readonly keyspaceId: KeyspaceId; readonly rows: readonly ImportRow[] },
  quotas: Quotas,
): Promise<ImportResult> {
  requireRecentAuthentication(edit.origin);
  const { scope, origin } = edit;
  // The lock on the workspace prevents concurrent additions between the checks and the insert.
  const { workspaceTrx, keyspace } = await enterKeyspace(trx, edit, keyspaceId);
  const hashes = rows.map(({ hash }) => hash);
  const known = await findKnownSecrets(workspaceTrx, scope, hashes);
  const { fresh, repeated, existing, rejected } = classifyRows(rows, known, keyspaceId);
  const count = await countIssuedKeys(workspaceTrx, scope);
  const quota = "issuedKeysPerWorkspace";
  const now = await readClock(trx);
  const resolved = fresh.flatMap((row) => {
    const expiry = chooseExpiry(keyspace, row.request);
    const expiresAt = expiry && toExpiryTime(expiry, now);
    if (!expiresAt || expiresAt > now) return [{ ...row, expiresAt }];
    rejected.push({ line: row.line, path: "expiresAt", message: "The key has expired." });
    return [];
  });
  const externalIds = resolved.flatMap(({ request }) => request.externalId ?? []);
  const consumerCount = await countConsumers(workspaceTrx, scope);
  const consumers = await findOrCreateConsumers(workspaceTrx, scope, {
    ...{ keyspaceId, externalIds },
    maxKeyCount: issuedKeyLimits.maxKeysPerConsumer,
  });
  const newConsumerCount = await countConsumers(workspaceTrx, scope);
  if (newConsumerCount > consumerCount) requireConsumerQuota(quotas, newConsumerCount);
  const assign = createAssignment(consumers);
  const keys = resolved.flatMap((row): ImportedKey[] => {
    const key = toKey(row, { keyspace, assign });
    if ("hash" in key) return [key];
    rejected.push(key);
    return [];
  });
  if (keys.length > 0) requireQuota(quotas, quota, count + keys.length - 1);
  await insertImportedKeys(workspaceTrx, scope, keyspaceId, keys);
  const added = new Set(keys.map(digestOf));
  const lost = repeated.filter((row) => !added.has(digestOf(row)));
  rejected.push(...lost.map(rejectRepeated));
  if (keys.length > 0) {
    const { name } = keyspace;
    await appendAudit(workspaceTrx, scope, origin, {
      action: "keyspace.keys-imported",
      targetId: keyspaceId,
      after: { name, keys: keys.length },
    });
    await addWorkspaceQuotaNotice(workspaceTrx, scope, quotas, { quota, count: count + keys.length });
  }
  return {
    imported: keys.length,
    existing: existing + repeated.length - lost.length,
    rejected: rejected.sort((one, other) => one.line - other.line),
  };
}

/** Rejects a row whose key is that of an earlier row, which was rejected. */
export function rejectRepeated({ line }: { readonly line: number }): RejectedRow {
  return { line, path: "hash", message: "An earlier row with this key was rejected." };
}

interface ClassifiedRows {
  /** Rows with keys that the workspace doesn't have, each with another one. */
  readonly fresh: readonly ImportRow[];
  /** Rows with the key of an earlier row in `fresh`. */
  readonly repeated: readonly ImportRow[];
  /** How many rows have keys of the keyspace. */
  readonly existing: number;
  readonly rejected: RejectedRow[];
}

function classifyRows(
  rows: readonly ImportRow[],
  secrets: readonly KnownSecret[],
  keyspaceId: KeyspaceId,
): ClassifiedRows {
  const known = new Map(secrets.map((secret) => [digestOf(secret), secret]));
  const fresh = new Map<string, ImportRow>();
  const repeated: ImportRow[] = [];
  const rejected: RejectedRow[] = [];
  let existing = 0;
  for (const row of rows) {
    const digest = digestOf(row);
    const secret = known.get(digest);
    if (fresh.has(digest)) repeated.push(row);
    else if (secret?.isCurrent && secret.keyspaceId === keyspaceId) existing += 1;
    else if (secret) rejected.push(rejectKnown(row));
    else fresh.set(digest, row);
  }
  return { fresh: [...fresh.values()], repeated, existing, rejected };
}

function digestOf({ hash }: { readonly hash: Buffer }): string {
  return hash.toString("base64");
}

function rejectKnown({ line }: ImportRow): RejectedRow {
  const message =
    "Another keyspace of this workspace has this key, it was the secret of a key that was rotated, or it belongs to a deleted keyspace whose keys are still being removed.";
  return { line, path: "hash", message };
}

/** Returns the consumer of one more key; undefined if the consumer has the most keys that it can have. */
type Assign = (externalId: string) => ConsumerId | undefined;

function createAssignment(consumers: readonly CountedConsumer[]): Assign {
  const counts = new Map(consumers.map(({ id, externalId, keyCount }) => [externalId, { id, keyCount }]));
  return (externalId) => {
    const consumer = counts.get(externalId);
    if (!consumer || consumer.keyCount >= issuedKeyLimits.maxKeysPerConsumer) return undefined;
    consumer.keyCount += 1;
    return consumer.id;
  };
}

function toKey(
  { line, hash, start, request, expiresAt }: ImportRow & { readonly expiresAt: Date | null },
  { keyspace, assign }: { readonly keyspace: Keyspace; readonly assign: Assign },
): ImportedKey | RejectedRow {
  const { settings, remainingCredits } = chooseSettings(keyspace, { ...request, expiresAt });
  const { externalId = null } = request;
  if (externalId === null) return { consumerId: null, start, hash, settings, remainingCredits };
  const consumerId = assign(externalId);
  if (consumerId) return { consumerId, start, hash, settings, remainingCredits };
  const message = `This consumer has ${issuedKeyLimits.maxKeysPerConsumer} keys, which is the maximum.`;
  return { line, path: "externalId", message };
}

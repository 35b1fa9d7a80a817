import { createApiKey } from "@latchkey/auth/key-format";
import type { Principal } from "@latchkey/auth/verdict";
import {
  isUnusedSecret,
  lockApiKey,
  replaceUnusedSecret,
  revokeOldApiKeySecrets,
  rotateApiKey,
} from "@latchkey/db/api-key-changes";
import type { ApiKey } from "@latchkey/db/api-keys";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { withSavepoint } from "@latchkey/db/savepoint";
import type { Trx } from "@latchkey/db/schema";
import { deleteKey } from "./api-key-edits.ts";
import { getKey } from "./api-keys.ts";
import { recordKeyEvents, requireKeyChangeQuota } from "./key-events.ts";
import { type KeyEdit, lockApiKeyAtVersion, lockForEdit, requireStillManageable } from "./lock-api-key.ts";
import type { Quotas } from "./quotas.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";

/** A key whose secret was just created. Only this result has the secret. */
export interface KeyWithSecret {
  readonly apiKey: ApiKey;
  readonly secret: string;
}

/**
 * Gives a key a new secret, which is only in the result. The old secret stays valid for the overlap.
 * @throws {AppError} NOT_FOUND if it is deleted or isn't theirs, PRECONDITION_FAILED at another version,
 *   TOO_MANY_REQUESTS.
 */
export async function rotateKey(
  trx: Trx,
  edit: KeyEdit,
  overlapSeconds: number,
  quotas: Quotas,
): Promise<KeyWithSecret> {
  requireRecentAuthentication(edit.origin);
  const { workspaceIds } = await lockForEdit(trx, edit);
  await requireKeyChangeQuota(trx, edit, quotas);
  const { secret, start, hash } = createApiKey();
  await rotateApiKey(trx, edit.id, { start, hash, overlapSeconds });
  await recordKeyEvents(trx, { ...edit, reach: [workspaceIds] }, [
    { action: "key.rotated", after: { overlapSeconds } },
  ]);
  const apiKey = await getKey(trx, edit);
  await bumpKeyVersions(trx, { keyId: edit.id, hasNewSecret: true });
  return { apiKey, secret };
}

/**
 * Replaces the secret that the creation or a rotation of a key issued, for a repeated request. Returns undefined if a
 * request was admitted with that secret, or it is no longer the key's current one. The overlap of old secrets
 * doesn't change.
 * @param issued.hash SHA-256 of the secret to replace.
 * @throws {AppError} FORBIDDEN, TOO_MANY_REQUESTS
 */
export async function reissueSecret(
  trx: Trx,
  edit: KeyEdit,
  issued: { readonly hash: Buffer; readonly isOwnRetry: boolean },
  quotas: Quotas,
): Promise<KeyWithSecret | undefined> {
  const acting = await requireStillActing(trx, edit.origin);
  if (!(issued.isOwnRetry && acting?.keyId === edit.id)) await requireStillManageable(trx, edit, acting);
  const key = await lockApiKey(trx, edit);
  const replaced = { id: edit.id, issuedHash: issued.hash };
  // A retry that issues no secret isn't limited.
  if (!key || !(await isUnusedSecret(trx, replaced))) return undefined;
  await requireKeyChangeQuota(trx, edit, quotas);
  const { secret, start, hash } = createApiKey();
  return await withSavepoint(trx, async () => {
    await recordKeyEvents(trx, { ...edit, reach: [key.workspaceIds] }, [{ action: "key.secret-reissued" }]);
    // Runs after the other changes, because admission waits for the row that it locks.
    if (!(await replaceUnusedSecret(trx, replaced, { start, hash }))) return undefined;
    return { apiKey: await getKey(trx, edit), secret };
  });
}

/**
 * Revokes all old secrets of a key. Its current secret stays valid. Once this is committed, no node accepts the old ones.
 * @throws {AppError} NOT_FOUND if it is deleted or isn't theirs, PRECONDITION_FAILED at another version.
 */
export async function revokeOldSecrets(trx: Trx, edit: KeyEdit): Promise<ApiKey> {
  await revokeFormerSecrets(trx, edit, await lockForEdit(trx, edit));
  return await getKey(trx, edit);
}

async function revokeFormerSecrets(trx: Trx, edit: KeyEdit, key: ApiKey): Promise<void> {
  if (await revokeOldApiKeySecrets(trx, edit.id)) {
    const event = { action: "key.former-secrets-revoked" } as const;
    await recordKeyEvents(trx, { ...edit, reach: [key.workspaceIds] }, [event]);
  }
  await bumpKeyVersions(trx, { keyId: edit.id });
}

/**
 * Revokes the credential of a request: deletes its key, or if the request used an old secret, revokes all former
 * secrets.
 * @throws {AppError} NOT_FOUND if the key is already deleted, PRECONDITION_FAILED at another version.
 */
export async function revokePresented(trx: Trx, edit: KeyEdit, principal: Principal): Promise<void> {
  if (!principal.isByFormerSecret) return await deleteKey(trx, edit);
  await requireStillActing(trx, edit.origin);
  await revokeFormerSecrets(trx, edit, await lockApiKeyAtVersion(trx, edit));
}

import { hasBlockingWorkspace } from "@latchkey/db/acting";
import { lockApiKey } from "@latchkey/db/api-key-changes";
import type { ApiKey } from "@latchkey/db/api-keys";
import type { Origin } from "@latchkey/db/audit-actions";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import { AppError } from "@latchkey/errors";
import { type ActingKey, requireStillActing } from "./require-still-acting.ts";

/** The key to change, its owner, and the origin of the change. */
export interface KeyEdit {
  readonly userId: UserId;
  readonly id: KeyId;
  readonly origin: Origin;
  /** The versions of the key that the request allows. */
  readonly versions?: Versions;
}

/**
 * Locks the key and its owner. Without the lock of the owner, a change of the owner's role, or of the policy of a workspace,
 * could miss a key that is given access to the workspace concurrently, and nodes would remember the former role or policy.
 */
export async function lockForEdit(trx: Trx, edit: KeyEdit): Promise<ApiKey> {
  const acting = await requireStillActing(trx, edit.origin, { others: [edit.userId] });
  await requireStillManageable(trx, edit, acting);
  return await lockApiKeyAtVersion(trx, edit);
}

/** @throws {AppError} NOT_FOUND, PRECONDITION_FAILED */
export async function lockApiKeyAtVersion(trx: Trx, edit: KeyEdit): Promise<ApiKey> {
  const key = (await lockApiKey(trx, edit)) ?? keyNotFound();
  // The version of a locked key can't change.
  if (edit.versions && !edit.versions.includes(key.version)) throw new AppError("PRECONDITION_FAILED");
  return key;
}

/**
 * Checks the acting key again: since admission, it may have been restricted or rotated. A key that a workspace has blocked must not
 * get its access back with a new secret of another key that reaches the workspace, and must not lock out the clients of such a key.
 * @throws {AppError} FORBIDDEN
 */
export async function requireStillManageable(
  trx: Trx,
  { userId, id, origin: { actor } }: KeyEdit,
  acting: ActingKey | undefined,
): Promise<void> {
  if (!acting) return;
  if (acting.isByFormerSecret) throw new AppError("FORBIDDEN");
  if (acting.keyId === id) return;
  if (acting.isRestricted) throw new AppError("FORBIDDEN");
  // For a key of a service account, admission has checked that the workspace accepts the acting key of the user who manages it.
  const isOwn = actor.kind !== "command" && actor.userId === userId;
  if (isOwn && (await hasBlockingWorkspace(trx, userId, { id, actingId: acting.keyId })))
    throw new AppError("FORBIDDEN");
}

/** @throws {AppError} NOT_FOUND */
export function keyNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such API key." });
}

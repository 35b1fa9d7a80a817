import { createApiKey } from "@latchkey/auth/key-format";
import {
  type ApiKey,
  type ApiKeyPage,
  deleteApiKey,
  findApiKey,
  findApiKeyOwner,
  insertApiKey,
  listApiKeys,
  updateApiKey,
} from "@latchkey/db/api-keys";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";

/**
 * Makes a key for a user. This answer is the only place where the secret ever stands.
 * @throws {AppError} FORBIDDEN when the user is disabled.
 */
export async function createKey(
  db: Db,
  key: { readonly userId: UserId; readonly name: string; readonly description: string },
): Promise<{ id: KeyId; secret: string }> {
  const { secret, start, hash } = createApiKey();
  const id = await db.transaction().execute((trx) => insertApiKey(trx, { ...key, start, hash }));
  if (!id) throw new AppError("FORBIDDEN", { message: "This user is disabled." });
  return { id, secret };
}

/** One of a user's keys. @throws {AppError} NOT_FOUND when it is deleted or was never theirs. */
export async function getKey(db: Db, key: { readonly userId: UserId; readonly id: KeyId }): Promise<ApiKey> {
  return (await findApiKey(db, key)) ?? notFound();
}

/** A page of a user's keys, newest first. `page` counts from 1. */
export async function listKeys(
  db: Db,
  userId: UserId,
  { search, page, pageSize }: { readonly search: string; readonly page: number; readonly pageSize: number },
): Promise<ApiKeyPage> {
  return await listApiKeys(db, userId, { search, offset: (page - 1) * pageSize, limit: pageSize });
}

/** Renames or redescribes a user's key. @throws {AppError} NOT_FOUND when it is deleted or was never theirs. */
export async function updateKey(
  db: Db,
  key: { readonly userId: UserId; readonly id: KeyId },
  changes: { readonly name: string; readonly description: string },
): Promise<ApiKey> {
  if (!(await updateApiKey(db, key, changes))) notFound();
  return await getKey(db, key);
}

/**
 * Deletes a user's key. When this returns, no node admits it.
 * @throws {AppError} NOT_FOUND when it is deleted already or was never theirs.
 */
export async function deleteKey(db: Db, key: { readonly userId: UserId; readonly id: KeyId }): Promise<void> {
  const wasThere = await db.transaction().execute((trx) => deleteApiKey(trx, key));
  if (!wasThere) notFound();
}

/** Deletes anybody's key, for the instance's operator. @throws {AppError} NOT_FOUND */
export async function deleteAnyKey(db: Db, id: KeyId): Promise<void> {
  const userId = await findApiKeyOwner(db, id);
  if (!userId) return notFound();
  await deleteKey(db, { userId, id });
}

function notFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such API key." });
}

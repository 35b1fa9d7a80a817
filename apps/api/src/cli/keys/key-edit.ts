import type { ApiKeyWithOwner } from "@latchkey/db/api-keys";
import type { KeyId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { type KeyChanges, updateKey } from "../../domain/api-key-edits.ts";
import { getKey, getKeyOwnerId } from "../../domain/api-keys.ts";
import type { KeyEdit } from "../../domain/lock-api-key.ts";
import { commandOrigin } from "../command-origin.ts";
import type { TaskContext } from "../task.ts";

/** @throws {AppError} NOT_FOUND */
export async function findEdit(db: Db, id: KeyId): Promise<KeyEdit> {
  return { userId: await getKeyOwnerId(db, id), id, origin: commandOrigin };
}

/** @throws {AppError} NOT_FOUND */
export async function getOwnedKey(db: Db, id: KeyId): Promise<ApiKeyWithOwner> {
  const userId = await getKeyOwnerId(db, id);
  return { ...(await getKey(db, { userId, id })), userId };
}

/** Changes a key. @throws {AppError} what {@link updateKey} throws */
export async function applyChanges(
  { db, quotas }: Pick<TaskContext, "db" | "quotas">,
  edit: KeyEdit,
  changes: KeyChanges,
): Promise<ApiKeyWithOwner> {
  const changed = await db.transaction().execute((trx) => updateKey(trx, edit, changes, quotas));
  return { ...changed, userId: edit.userId };
}

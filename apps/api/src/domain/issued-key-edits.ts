import type { KeyspaceId } from "@latchkey/db/ids";
import { lockIssuedKey } from "@latchkey/db/issued-key-changes";
import type { IssuedKey, IssuedKeyPath } from "@latchkey/db/issued-keys";
import { type Keyspace, lockKeyspaceAgainstDeletion } from "@latchkey/db/keyspaces";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterToManage } from "./enter-to-manage.ts";
import { keyspaceNotFound } from "./keyspaces.ts";

/**
 * Enters a workspace to change keys of a keyspace, and locks the keyspace against deletion.
 * @throws {AppError} NOT_FOUND, FORBIDDEN
 */
export async function enterKeyspace(
  trx: Trx,
  edit: Edit,
  id: KeyspaceId,
): Promise<{ readonly workspaceTrx: WorkspaceTrx; readonly keyspace: Keyspace }> {
  const workspaceTrx = await enterToManage(trx, edit, "keys:manage");
  const keyspace = await lockKeyspaceAgainstDeletion(workspaceTrx, edit.scope, id);
  return { workspaceTrx, keyspace: keyspace ?? keyspaceNotFound() };
}

/** Locks a key against other changes. @throws {AppError} NOT_FOUND, PRECONDITION_FAILED */
export async function lockIssuedKeyAtVersion(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { versions, ...path }: IssuedKeyPath & { readonly versions: Versions },
): Promise<IssuedKey> {
  const key = (await lockIssuedKey(trx, scope, path)) ?? issuedKeyNotFound();
  // The version of a locked key can't change.
  if (versions && !versions.includes(key.version)) throw new AppError("PRECONDITION_FAILED");
  return key;
}

export function issuedKeyNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such issued key." });
}

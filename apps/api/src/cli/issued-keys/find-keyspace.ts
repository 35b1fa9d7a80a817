import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { IssuedKeyId, KeyspaceId } from "@latchkey/db/ids";
import type { IssuedKeyPath } from "@latchkey/db/issued-keys";
import { type KeyspaceLocation, locateIssuedKey, locateKeyspace } from "@latchkey/db/locate-keyspace";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import type { Edit } from "../../domain/enter-for-edit.ts";
import { commandOrigin } from "../command-origin.ts";

/** Opens the workspace of a keyspace. @throws {AppError} NOT_FOUND */
export async function findKeyspaceEdit(db: Db, id: KeyspaceId): Promise<Edit> {
  const location = await locateKeyspace(db, id);
  if (!location) throw new AppError("NOT_FOUND", { message: "There is no such keyspace." });
  return toEdit(location);
}

/** Opens the workspace of an issued key. @throws {AppError} NOT_FOUND */
export async function findIssuedKeyEdit(
  db: Db,
  id: IssuedKeyId,
): Promise<{ readonly edit: Edit; readonly path: IssuedKeyPath }> {
  const location = await locateIssuedKey(db, id);
  if (!location) throw new AppError("NOT_FOUND", { message: "There is no such issued key." });
  return { edit: toEdit(location), path: { keyspaceId: location.keyspaceId, id } };
}

function toEdit({ workspaceId }: KeyspaceLocation): Edit {
  return { scope: openAsOperator(workspaceId), origin: commandOrigin };
}

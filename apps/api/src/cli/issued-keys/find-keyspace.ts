import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { KeyspaceId } from "@latchkey/db/ids";
import { type KeyspaceLocation, locateKeyspace } from "@latchkey/db/locate-keyspace";
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

/** Opens the workspace of a keyspace for a change by the operator. */
export function toEdit({ workspaceId }: KeyspaceLocation): Edit {
  return { scope: openAsOperator(workspaceId), origin: commandOrigin };
}

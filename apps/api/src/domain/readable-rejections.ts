import { findWorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import { type FoundRejection, findRejectionsOfMember } from "@latchkey/db/key-history";
import type { Db } from "@latchkey/db/schema";
import { asUser } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";

interface Reader {
  readonly userId: UserId;
  readonly hasSecondFactor: boolean;
}

/**
 * Finds rejected requests with this request ID and keys that the user may see, which are their own and those of service accounts:
 * the last 100, newest first.
 */
export async function findReadableRejections(
  db: Db,
  reader: Reader,
  requestId: string,
): Promise<FoundRejection[]> {
  const { userId } = reader;
  const found = await asUser(db, userId, (trx) => findRejectionsOfMember(trx, userId, requestId));
  const readable = new Map<WorkspaceId | null, boolean>([[null, true]]);
  for (const { serviceWorkspaceId: workspaceId } of found)
    if (workspaceId && !readable.has(workspaceId))
      readable.set(workspaceId, await canReadKeys(db, { ...reader, workspaceId }));
  return found.filter(({ serviceWorkspaceId }) => readable.get(serviceWorkspaceId));
}

async function canReadKeys(
  db: Db,
  membership: Reader & { readonly workspaceId: WorkspaceId },
): Promise<boolean> {
  try {
    return (await findWorkspaceAccess(db, membership, "api-keys:read")) !== undefined;
  } catch (error) {
    // The workspace is disabled, or requires a second factor. The other rejections can still be read.
    if (error instanceof AppError && error.code === "FORBIDDEN") return false;
    throw error;
  }
}

import { type IssuedKeyEvent, listIssuedKeyEvents } from "@latchkey/db/issued-key-events";
import type { IssuedKeyPath } from "@latchkey/db/issued-keys";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { getIssuedKey } from "./issued-keys.ts";

/**
 * Lists the latest changes to a key, newest first; with `hasCredits`, only those of its credits.
 * @throws {AppError} NOT_FOUND
 */
export async function listIssuedKeyHistory(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { hasCredits, ...path }: IssuedKeyPath & { readonly hasCredits: boolean },
): Promise<IssuedKeyEvent[]> {
  const { id } = await getIssuedKey(trx, scope, path);
  return await listIssuedKeyEvents(trx, scope, { id, hasCredits });
}

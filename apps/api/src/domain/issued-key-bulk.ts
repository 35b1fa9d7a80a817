import { appendAuditEvents } from "@latchkey/db/audit-events";
import type { IssuedKeyId, KeyspaceId } from "@latchkey/db/ids";
import {
  type ChosenKeys,
  type LockedKey,
  lockIssuedKeys,
  setIssuedKeysDisabled,
} from "@latchkey/db/issued-key-bulk";
import { deleteIssuedKeys } from "@latchkey/db/issued-key-changes";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import type { Trx } from "@latchkey/db/schema";
import { enterKeyspace } from "./issued-key-edits.ts";
import type { Edit } from "./workspaces.ts";

export const bulkActions = ["enable", "disable", "delete"] as const;
export type BulkAction = (typeof bulkActions)[number];

const auditActions = {
  enable: "issued-key.enabled",
  disable: "issued-key.disabled",
  delete: "issued-key.deleted",
} as const satisfies Record<BulkAction, string>;

/** What a change of several keys did to each of them. */
export interface BulkResult {
  readonly changed: readonly IssuedKeyId[];
  /** Keys that were already enabled, or already disabled. */
  readonly unchanged: readonly IssuedKeyId[];
  /** IDs that no key of the keyspace has. */
  readonly notFound: readonly IssuedKeyId[];
}

/**
 * Enables, disables or deletes several keys in one transaction. Once this is committed, every node applies it. Each changed
 * key gets an event. A consumer has at most 1,000 keys, so all of its keys are changed.
 * @throws {AppError} NOT_FOUND, FORBIDDEN
 */
export async function changeIssuedKeys(
  trx: Trx,
  edit: Edit,
  {
    keyspaceId,
    action,
    chosen,
  }: {
    readonly keyspaceId: KeyspaceId;
    readonly action: BulkAction;
    readonly chosen: ChosenKeys;
  },
): Promise<BulkResult> {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, keyspaceId);
  const keys = await lockIssuedKeys(workspaceTrx, scope, keyspaceId, chosen);
  const affected = keys.filter(
    ({ isDisabled }) => action === "delete" || isDisabled === (action === "enable"),
  );
  const changed = affected.map(({ id }) => id);
  if (changed.length > 0) {
    const changes = affected.map((key) => ({
      action: auditActions[action],
      targetId: key.id,
      ...describe(key, action),
    }));
    await appendAuditEvents(workspaceTrx, scope, origin, changes);
    // The counters of the keys come last, because admission waits for them.
    if (action === "delete") await deleteIssuedKeys(workspaceTrx, scope, changed);
    else {
      await setIssuedKeysDisabled(workspaceTrx, scope, changed, action === "disable");
      await bumpKeyVersions(workspaceTrx, { keyIds: changed });
    }
  }
  const [found, isChanged] = [new Set(keys.map(({ id }) => id)), new Set(changed)];
  return {
    changed,
    unchanged: [...found].filter((id) => !isChanged.has(id)),
    notFound: "ids" in chosen ? [...new Set(chosen.ids)].filter((id) => !found.has(id)) : [],
  };
}

/** The same values as in the event of a change of one key. */
function describe({ name, start, externalId }: LockedKey, action: BulkAction) {
  return action === "delete" ? { before: { name, start, externalId } } : { after: { name, start } };
}

import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { countWorkspaceKeys, listWorkspaceKeys, type WorkspaceKeyFilter } from "@latchkey/db/workspace-keys";
import { inWorkspace, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { type BusyKey, listBusiestKeys, readWorkspaceUsage } from "@latchkey/db/workspace-usage";
import { readWorkspaceVerifications } from "../domain/workspace-verifications.ts";
import { areValidBuckets, invalidBuckets, usageBuckets } from "../key-fields.ts";
import { presentUsage } from "../presenters/usage-bucket.ts";
import { presentWorkspaceKey } from "../presenters/workspace-key.ts";
import { presentWorkspaceVerifications } from "../presenters/workspace-verifications.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";
import { ownerFilter } from "./workspace-keys.ts";

/** The maximum number of keys or consumers in each list of the overview. */
const shownKeys = 5;

/** The use of a workspace and its keys. */
export const overviewRouter = createRouter({
  /** The number of requests per outcome and bucket, with all keys. */
  usage: workspaceProcedure("workspace:read")
    .input(workspaceInput(usageBuckets).refine(areValidBuckets, invalidBuckets))
    .query(async ({ ctx: { read, access }, input: { starts, to } }) => {
      const rows = await read((db) =>
        inWorkspace(db, access.scope, (trx) => readWorkspaceUsage(trx, access.scope, { starts, to })),
      );
      return rows.map(presentUsage);
    }),

  /**
   * The busiest keys of a period, and the keys that need attention. If `isOwn` is true, these are only the user's
   * own keys.
   */
  keys: workspaceProcedure("workspace:read")
    .input(workspaceInput(usageBuckets).refine(areValidBuckets, invalidBuckets))
    .query(async ({ ctx: { read, access }, input: { starts, to } }) => {
      const [from = to] = starts;
      const ownerId = ownerFilter(access);
      const { scope } = access;
      return await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          const busiest = await listBusiestKeys(trx, scope, { from, to, ownerId, limit: shownKeys });
          return {
            isOwn: ownerId !== undefined,
            total: await countWorkspaceKeys(trx, scope, { ownerId }),
            busiest: busiest.map(presentBusyKey),
            expiring: await listFirst(trx, access, {
              sort: "expiresAt",
              filter: { ownerId, status: "expiring" },
            }),
            unused: await listFirst(trx, access, {
              sort: "createdAt",
              filter: { ownerId, status: "unused" },
            }),
          };
        }),
      );
    }),

  /**
   * The number of verifications per outcome and bucket of all keyspaces, the busiest issued keys and consumers, and the issued
   * keys that need attention. Null if there is no keyspace.
   */
  verifications: workspaceProcedure("keys:read")
    .input(workspaceInput(usageBuckets).refine(areValidBuckets, invalidBuckets))
    .query(async ({ ctx: { read, access }, input: { starts, to } }) => {
      const query = { buckets: { starts, to }, limit: shownKeys };
      const verifications = await read((db) =>
        inWorkspace(db, access.scope, (trx) => readWorkspaceVerifications(trx, access.scope, query)),
      );
      return verifications && presentWorkspaceVerifications(verifications);
    }),
});

/** The first keys of a list in ascending order, and the number of keys in the list. */
async function listFirst(
  trx: WorkspaceTrx,
  { scope }: WorkspaceAccess,
  { sort, filter }: { readonly sort: "expiresAt" | "createdAt"; readonly filter: WorkspaceKeyFilter },
) {
  const page = { ...filter, sort, direction: "asc", offset: 0, limit: shownKeys } as const;
  const { items, total } = await listWorkspaceKeys(trx, scope, page);
  return { items: items.map(presentWorkspaceKey), total };
}

function presentBusyKey({ id, ownerId, ownerName, ownerKind, ...key }: BusyKey) {
  return {
    ...key,
    id: encodeId("key", id),
    owner: { id: encodeId("user", ownerId), name: ownerName, kind: ownerKind },
  };
}

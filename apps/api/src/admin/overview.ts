import { roleHolds } from "@latchkey/auth/permissions";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import { encodeId, type UserId } from "@latchkey/db/ids";
import { keyStatuses } from "@latchkey/db/key-status";
import {
  countWorkspaceKeys,
  listWorkspaceKeys,
  type WorkspaceKeyFilter,
  workspaceKeySorts,
} from "@latchkey/db/workspace-keys";
import { inWorkspace, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { type BusyKey, listBusiestKeys, readWorkspaceUsage } from "@latchkey/db/workspace-usage";
import { z } from "zod";
import { searchText, userId } from "../fields.ts";
import { areValidBuckets, invalidBuckets, usageBuckets } from "../key-fields.ts";
import { pageSize } from "../lists.ts";
import { presentUsage } from "../presenters/usage-bucket.ts";
import { presentWorkspaceKey } from "../presenters/workspace-key.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** The maximum number of keys in each list of the overview. */
const shownKeys = 5;
const maxPage = 10_000;

/** Members without the permission to see all keys see their own keys. */
function ownerFilter({ role, userId }: WorkspaceAccess): UserId | undefined {
  return roleHolds(role, "keys:read") ? undefined : userId;
}

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
});

/** The API keys that can reach a workspace. */
export const workspaceKeysRouter = createRouter({
  /** A page of the keys. Members without the permission to see all keys see their own. */
  list: workspaceProcedure("workspace:read")
    .input(
      workspaceInput({
        search: searchText.default(""),
        status: z.enum(keyStatuses).optional(),
        ownerId: userId.optional(),
        sort: z.enum(workspaceKeySorts).default("createdAt"),
        direction: z.enum(["asc", "desc"]).default("desc"),
        page: z.int().min(1).max(maxPage).default(1),
        pageSize: pageSize.default(25),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { search, status, sort, direction, page, pageSize } = input;
      const { scope } = access;
      const onlyOwn = ownerFilter(access);
      const query = {
        search,
        status,
        sort,
        direction,
        ownerId: onlyOwn ?? input.ownerId,
        offset: (page - 1) * pageSize,
        limit: pageSize,
      };
      const { items, total } = await read((db) =>
        inWorkspace(db, scope, (trx) => listWorkspaceKeys(trx, scope, query)),
      );
      return { items: items.map(presentWorkspaceKey), total, isOwn: onlyOwn !== undefined };
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

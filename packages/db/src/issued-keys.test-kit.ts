import { randomBytes, randomUUID } from "node:crypto";
import { type ConsumerId, createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import { insertIssuedKey } from "./issued-key-changes.ts";
import { insertKeyspace } from "./keyspaces.ts";
import type { Db } from "./schema.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

// What tests of keyspaces and issued keys use to prepare.

/** Adds a workspace with a new owner. */
export async function addWorkspace(db: Db): Promise<WorkspaceScope> {
  return await db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const ownerId = (await insertUserWithPassword(trx, user)) as never; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Workspace", slug: randomUUID(), ownerId });
    return made?.scope as WorkspaceScope; // No workspace has this slug.
  });
}

/** Adds a keyspace without defaults. */
export async function addKeyspace(db: Db, scope: WorkspaceScope): Promise<KeyspaceId> {
  const id = createId("keyspace");
  await inWorkspace(db, scope, (trx) =>
    insertKeyspace(trx, scope, {
      id,
      name: "Production",
      prefix: "sk_live",
      environment: "",
      defaultLifetimeDays: null,
      defaultPermissions: [],
      defaultLimits: [],
      defaultCredits: null,
    }),
  );
  return id;
}

/** Adds a key without restrictions, with one credit. */
export async function addKey(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  key: { readonly keyspaceId: KeyspaceId; readonly consumerId?: ConsumerId; readonly hash?: Buffer },
): Promise<IssuedKeyId> {
  const settings = {
    name: "",
    meta: {},
    permissions: [],
    limits: [],
    refill: null,
    expiresAt: null,
    isDisabled: false,
    ipRanges: null,
  };
  const { keyspaceId, consumerId = null, hash = randomBytes(32) } = key;
  const start = "sk_live_abcdef";
  return await insertIssuedKey(trx, scope, {
    keyspaceId,
    consumerId,
    start,
    hash,
    settings,
    remainingCredits: 1,
  });
}

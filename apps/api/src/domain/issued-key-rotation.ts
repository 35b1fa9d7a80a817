import { createIssuedKey as createSecret, type NewKey } from "@latchkey/auth/key-format";
import { appendAudit, appendAuditEvents } from "@latchkey/db/audit-events";
import type { IssuedKeyId, KeyspaceId } from "@latchkey/db/ids";
import { type ChosenKeys, type LockedKey, lockIssuedKeys } from "@latchkey/db/issued-key-bulk";
import {
  findUnusedIssuedSecrets,
  type IssuedSecretHash,
  replaceUnusedIssuedSecrets,
  revokeOldIssuedSecrets,
  rotateIssuedKeys,
} from "@latchkey/db/issued-key-secrets";
import type { IssuedKey, IssuedKeyPath } from "@latchkey/db/issued-keys";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { type Keyspace, lockKeyspaceAgainstDeletion } from "@latchkey/db/keyspaces";
import { withSavepoint } from "@latchkey/db/savepoint";
import type { Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import type { WorkspaceTrx } from "@latchkey/db/workspace-scope";
import type { Edit } from "./enter-for-edit.ts";
import { enterToManage } from "./enter-to-manage.ts";
import { listMissingIds } from "./issued-key-bulk.ts";
import { enterKeyspace, lockIssuedKeyAtVersion } from "./issued-key-edits.ts";
import { getIssuedKey, type IssuedKeyWithSecret } from "./issued-keys.ts";
import { consumeIssuedSecretQuota } from "./issued-secret-quota.ts";
import type { Quotas } from "./quotas.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";

/** A secret that was just created, which is only in the result, and its first characters. */
export type NewSecret = Pick<NewKey, "secret" | "start">;

/** A key that was rotated together with others. */
export type RotatedKey = Pick<LockedKey, "id" | "name" | "externalId"> & NewSecret;

/** What a rotation of several keys did to each of them. */
export interface BulkRotationResult {
  readonly rotated: readonly RotatedKey[];
  /** IDs that no key of the keyspace has. */
  readonly notFound: readonly IssuedKeyId[];
}

/**
 * Gives a key a new secret, which is only in the result. The old secret stays valid for the overlap.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN, TOO_MANY_REQUESTS
 */
export async function rotateKey(
  trx: Trx,
  edit: Edit,
  path: IssuedKeyPath,
  {
    overlapSeconds,
    versions,
    quotas,
  }: { readonly overlapSeconds: number; readonly versions: Versions; readonly quotas: Quotas },
): Promise<IssuedKeyWithSecret> {
  requireRecentAuthentication(edit.origin);
  const { scope } = edit;
  const { workspaceTrx, keyspace } = await enterKeyspace(trx, edit, path.keyspaceId);
  const { name } = await lockIssuedKeyAtVersion(workspaceTrx, scope, { ...path, versions });
  await consumeIssuedSecretQuota(trx, edit.origin, { count: 1, quotas });
  const { secret, ...created } = createFor(path.id, keyspace);
  await replaceSecrets(workspaceTrx, edit, [{ ...created, name }], overlapSeconds);
  const issuedKey = await getIssuedKey(workspaceTrx, scope, path);
  await bumpKeyVersions(workspaceTrx, { keyIds: [path.id], hasNewSecret: true });
  return { issuedKey, secret };
}

/**
 * Gives several keys new secrets in one transaction, as {@link rotateKey} does, with a fixed number of statements, whatever the
 * number of keys. Each key gets an event. A consumer has at most 1,000 keys, so all of its keys are rotated.
 * @throws {AppError} NOT_FOUND, FORBIDDEN, TOO_MANY_REQUESTS
 */
export async function rotateKeys(
  trx: Trx,
  edit: Edit,
  {
    keyspaceId,
    chosen,
    overlapSeconds,
    quotas,
  }: {
    readonly keyspaceId: KeyspaceId;
    readonly chosen: ChosenKeys;
    readonly overlapSeconds: number;
    readonly quotas: Quotas;
  },
): Promise<BulkRotationResult> {
  requireRecentAuthentication(edit.origin);
  const { workspaceTrx, keyspace } = await enterKeyspace(trx, edit, keyspaceId);
  const keys = await lockIssuedKeys(workspaceTrx, edit.scope, keyspaceId, chosen);
  const created = keys.map((key) => ({ ...key, ...createFor(key.id, keyspace) }));
  if (created.length > 0) {
    await consumeIssuedSecretQuota(trx, edit.origin, { count: created.length, quotas });
    await replaceSecrets(workspaceTrx, edit, created, overlapSeconds);
    // The counters of the keys come last, because admission waits for them.
    await bumpKeyVersions(workspaceTrx, { keyIds: created.map(({ id }) => id), hasNewSecret: true });
  }
  return { rotated: created, notFound: listMissingIds(chosen, keys) };
}

function createFor(id: IssuedKeyId, { prefix }: Keyspace) {
  return { id, ...createSecret(prefix) };
}

type CreatedSecret = Omit<ReturnType<typeof createFor>, "secret"> & Pick<LockedKey, "name">;

/** Replaces the secrets of locked keys. Call `bumpKeyVersions` with `hasNewSecret` last in the transaction. */
async function replaceSecrets(
  trx: WorkspaceTrx,
  { scope, origin }: Edit,
  secrets: readonly CreatedSecret[],
  overlapSeconds: number,
): Promise<void> {
  await rotateIssuedKeys(trx, scope, secrets, overlapSeconds);
  const action = "issued-key.rotated";
  const events = secrets.map(
    ({ id: targetId, name, start }) =>
      ({ action, targetId, after: { name, start, overlapSeconds } }) as const,
  );
  await appendAuditEvents(trx, scope, origin, events);
}

/**
 * Revokes all old secrets of a key. Its current secret stays valid. Once this is committed, no node accepts the old ones.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN
 */
export async function revokeOldSecrets(
  trx: Trx,
  edit: Edit,
  path: IssuedKeyPath,
  versions: Versions,
): Promise<IssuedKey> {
  const { scope, origin } = edit;
  const { workspaceTrx } = await enterKeyspace(trx, edit, path.keyspaceId);
  const { name, start } = await lockIssuedKeyAtVersion(workspaceTrx, scope, { ...path, versions });
  if (await revokeOldIssuedSecrets(workspaceTrx, scope, path.id)) {
    const action = "issued-key.former-secrets-revoked";
    await appendAudit(workspaceTrx, scope, origin, { action, targetId: path.id, after: { name, start } });
  }
  const issuedKey = await getIssuedKey(workspaceTrx, scope, path);
  await bumpKeyVersions(workspaceTrx, { keyIds: [path.id] });
  return issuedKey;
}

/** The secrets that a creation or rotation issued, and the keyspace of their keys. */
interface IssuedSecrets {
  readonly keyspaceId: KeyspaceId;
  readonly issued: readonly IssuedSecretHash[];
  readonly quotas: Quotas;
}

/**
 * Replaces the secrets that the creation or a rotation of keys issued, for a repeated request. The overlap of old secrets doesn't
 * change.
 * @returns the new secrets by key. Keys that were deleted, and keys whose issued secret was used or is no longer current, are left
 *   out.
 * @throws {AppError} FORBIDDEN, TOO_MANY_REQUESTS
 */
export async function reissueIssuedSecrets(
  trx: Trx,
  edit: Edit,
  secrets: IssuedSecrets,
): Promise<ReadonlyMap<IssuedKeyId, NewSecret>> {
  return await replaceUnused(trx, await enterToManage(trx, edit, "keys:manage"), { ...secrets, edit });
}

/**
 * Replaces the secret of one key, as {@link reissueIssuedSecrets} does. Returns the key as it is afterwards, with its new secret;
 * undefined if the secret wasn't replaced.
 * @throws {AppError} FORBIDDEN, TOO_MANY_REQUESTS
 */
export async function reissueIssuedSecret(
  trx: Trx,
  edit: Edit,
  { keyspaceId, id, issuedHash, quotas }: IssuedKeyPath & IssuedSecretHash & Pick<IssuedSecrets, "quotas">,
): Promise<IssuedKeyWithSecret | undefined> {
  const workspaceTrx = await enterToManage(trx, edit, "keys:manage");
  const issued = [{ id, issuedHash }];
  const created = (await replaceUnused(trx, workspaceTrx, { keyspaceId, issued, quotas, edit })).get(id);
  if (!created) return undefined;
  const issuedKey = await getIssuedKey(workspaceTrx, edit.scope, { keyspaceId, id });
  return { issuedKey, secret: created.secret };
}

async function replaceUnused(
  trx: Trx,
  workspaceTrx: WorkspaceTrx,
  { keyspaceId, issued, quotas, edit }: IssuedSecrets & { readonly edit: Edit },
): Promise<ReadonlyMap<IssuedKeyId, NewSecret>> {
  const { scope } = edit;
  const keyspace = await lockKeyspaceAgainstDeletion(workspaceTrx, scope, keyspaceId);
  if (!keyspace) return new Map();
  const chosen = { ids: issued.map(({ id }) => id) };
  const keys = await lockIssuedKeys(workspaceTrx, scope, keyspaceId, chosen);
  const replace = async ({ lock }: { readonly lock: boolean }) => {
    const unused = new Set(await findUnusedIssuedSecrets(workspaceTrx, scope, issued, { lock }));
    const hashes = new Map(issued.map(({ id, issuedHash }) => [id, issuedHash]));
    const created = keys.flatMap(({ id, name }) => {
      const issuedHash = hashes.get(id);
      return issuedHash && unused.has(id) ? [{ ...createFor(id, keyspace), name, issuedHash }] : [];
    });
    if (created.length === 0) return new Map<IssuedKeyId, NewSecret>();
    // Locks the row of the quota outside the savepoint, so that the second attempt doesn't wait for it while it holds counters.
    if (!lock) await consumeIssuedSecretQuota(trx, edit.origin, { count: 0, quotas });
    return await withSavepoint(trx, async () => {
      await consumeIssuedSecretQuota(trx, edit.origin, { count: created.length, quotas });
      return await tryToReissue(workspaceTrx, edit, created);
    });
  };
  // Admission waits for locked counters, so they are locked last. If a secret is used before they are locked, the savepoint removes
  // the events and returns the quota, and the second attempt locks the counters first.
  const reissued = (await replace({ lock: false })) ?? (await replace({ lock: true }));
  if (!reissued) throw new Error("A secret was used although its counter was locked.");
  return reissued;
}

/** Returns the new secrets by key; undefined if one of the secrets to replace has been used. */
async function tryToReissue(
  trx: WorkspaceTrx,
  { scope, origin }: Edit,
  created: readonly (CreatedSecret & IssuedSecretHash & NewSecret)[],
): Promise<ReadonlyMap<IssuedKeyId, NewSecret> | undefined> {
  const action = "issued-key.secret-reissued";
  const events = created.map(
    ({ id: targetId, name, start }) => ({ action, targetId, after: { name, start } }) as const,
  );
  await appendAuditEvents(trx, scope, origin, events);
  // Runs last, because admission waits for the rows that it locks.
  const replaced = await replaceUnusedIssuedSecrets(trx, scope, created);
  if (replaced.length < created.length) return undefined;
  return new Map(created.map(({ id, start, secret }) => [id, { start, secret }]));
}

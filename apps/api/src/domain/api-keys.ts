import type { Principal } from "@latchkey/auth/verdict";
import { findRateLimitedKeys, type OwnKeyQuery } from "@latchkey/db/api-key-search";
import {
  type ApiKey,
  type ApiKeyWithOwner,
  findApiKey,
  findApiKeyOwnerId,
  listApiKeyPage,
  listApiKeys,
  listInstanceApiKeys,
} from "@latchkey/db/api-keys";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import { asUser } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { keyNotFound } from "./lock-api-key.ts";

/** Returns one of a user's keys. @throws {AppError} NOT_FOUND if it is deleted or isn't theirs. */
export async function getKey(db: Db, key: { readonly userId: UserId; readonly id: KeyId }): Promise<ApiKey> {
  return (await findApiKey(db, key)) ?? keyNotFound();
}

/** Returns the owner of a key, for the operator. @throws {AppError} NOT_FOUND */
export async function getKeyOwnerId(db: Db, id: KeyId): Promise<UserId> {
  return (await findApiKeyOwnerId(db, id)) ?? keyNotFound();
}

/** A key, as the web app shows it. */
export interface ListedKey extends ApiKey {
  /** Whether a request was rate limited in this clock hour or the one before. */
  readonly isRateLimited: boolean;
}

/** Adds to a key of a user whether it is rate limited. */
export async function toListedKey(db: Db, userId: UserId, key: ApiKey): Promise<ListedKey> {
  const limited = await asUser(db, userId, (trx) => findRateLimitedKeys(trx, [key.id]));
  return { ...key, isRateLimited: limited.has(key.id) };
}

/** Returns a page of a user's keys, newest first by default. `page` starts at 1. */
export async function listKeys(
  db: Db,
  userId: UserId,
  { page, pageSize, ...query }: Omit<OwnKeyQuery, "offset" | "limit"> & { page: number; pageSize: number },
): Promise<{ items: ListedKey[]; total: number }> {
  return await asUser(db, userId, async (trx) => {
    const cut = { offset: (page - 1) * pageSize, limit: pageSize };
    const { items, total } = await listApiKeys(trx, userId, { ...query, ...cut });
    const limited = await findRateLimitedKeys(
      trx,
      items.map(({ id }) => id),
    );
    return { items: items.map((key) => ({ ...key, isRateLimited: limited.has(key.id) })), total };
  });
}

/** How many keys the lists for the operator keep in memory at a time. */
const keysPerPage = 100;

/**
 * Lists every key of a user, oldest first, for the operator. A key that is created while the list is read may be
 * missing.
 */
export async function* listOwnedKeys(db: Db, userId: UserId): AsyncGenerator<ApiKeyWithOwner> {
  const order = { sort: "createdAt", direction: "asc", limit: keysPerPage, filter: {} } as const;
  let after: Position | undefined;
  do {
    const keys = await listApiKeyPage(db, userId, { ...order, after });
    for (const { position: _position, ...key } of keys) yield { ...key, userId };
    const last = keys.length === keysPerPage ? keys.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/** Lists every key of the instance by ID, for the operator, like {@link listOwnedKeys}. */
export async function* listInstanceKeys(db: Db): AsyncGenerator<ApiKeyWithOwner> {
  let after: KeyId | undefined;
  do {
    const keys = await listInstanceApiKeys(db, { after, limit: keysPerPage });
    yield* keys;
    after = keys.length === keysPerPage ? keys.at(-1)?.id : undefined;
  } while (after);
}

/**
 * Checks that a key may read another: an unrestricted key may read all keys of its owner, and a restricted key only
 * itself.
 * @throws {AppError} FORBIDDEN, both if the key doesn't exist and if it belongs to another user.
 */
export async function requireReadableKey(db: Db, principal: Principal, id: KeyId): Promise<void> {
  if (principal.isRestricted && principal.keyId !== id) throw new AppError("FORBIDDEN");
  if ((await findApiKeyOwnerId(db, id)) !== principal.userId) throw new AppError("FORBIDDEN");
}

/**
 * Checks that a key may change another. It may change the keys that it may read, unless the request used an old
 * secret: a client that only has an old secret must not be able to lock out the clients that have the current one.
 * @param isOwnRetry whether the request is a retry of a completed request that used the same secret. An old secret
 *   may only retry requests about its own key (docs/decisions/0026).
 * @throws {AppError} FORBIDDEN
 */
export async function requireManageable(
  trx: Trx,
  principal: Principal,
  { id, isOwnRetry = false }: { readonly id: KeyId; readonly isOwnRetry?: boolean },
): Promise<void> {
  if (principal.isByFormerSecret && !(isOwnRetry && principal.keyId === id)) throw new AppError("FORBIDDEN");
  await requireReadableKey(trx, principal, id);
}

import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Trx } from "./schema.ts";

/** Identifies a request of a client, so that sending it again does not execute it again. */
export interface IdempotencyName {
  readonly userId: UserId;
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

/** The response to a request, and what decides how a repeated request is handled. */
export interface IdempotencyRecord {
  /** SHA-256 of the request's body. */
  readonly requestHash: Buffer;
  readonly status: number;
  /** Null if the response had no body. */
  readonly answer: Record<string, unknown> | null;
  /** SHA-256 of the secret that the request was made with; null for a record from before it was stored. */
  readonly presentedHash: Buffer | null;
  /** SHA-256 of each secret that the response issued, in the order of the response. */
  readonly issuedHashes: readonly Buffer[];
}

/** The length of a hash in `issued_hash`, in bytes. */
const hashLength = 32;

/** Concatenates the hashes of all secrets of a response, as they are stored; null for none. */
function joinHashes(hashes: readonly Buffer[]): Buffer | null {
  return hashes.length === 0 ? null : Buffer.concat(hashes);
}

function splitHashes(stored: Buffer | null): readonly Buffer[] {
  if (!stored) return [];
  return Array.from({ length: stored.length / hashLength }, (_, index) =>
    stored.subarray(index * hashLength, (index + 1) * hashLength),
  );
}

/** How long a repeated request is recognized, in hours. */
export const idempotencyLifetimeHours = 24;

/** The same for requests that verify keys, which are more frequent than all others (docs/decisions/0061). */
export const verificationLifetimeHours = 1;

/** The paths of requests that verify keys. */
export const verificationPaths = ["/open/keys/verify", "/open/keys/verify-batch"] as const;

/**
 * Claims the name until the transaction ends. Returns false if another transaction that has not ended has claimed it.
 * After a successful claim, the records of earlier transactions are visible.
 */
export async function claimIdempotencyName(trx: Trx, name: IdempotencyName): Promise<boolean> {
  const text = JSON.stringify([name.userId, name.method, name.path, name.key]);
  const { rows } = await sql<{ claimed: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${text}, 1)) as claimed`.execute(trx);
  return rows[0]?.claimed === true;
}

export async function findIdempotencyRecord(
  trx: Trx,
  name: IdempotencyName,
): Promise<IdempotencyRecord | undefined> {
  const row = await trx
    .selectFrom("idempotency_records")
    .select([
      "request_hash as requestHash",
      "status",
      "answer",
      "presented_hash as presentedHash",
      "issued_hash as issuedHash",
    ])
    .where("user_id", "=", name.userId)
    .where("method", "=", name.method)
    .where("path", "=", name.path)
    .where("key", "=", name.key)
    .where("created_at", ">", sql<Date>`now() - make_interval(hours => ${idempotencyLifetimeHours})`)
    .executeTakeFirst();
  if (!row) return undefined;
  const { issuedHash, ...record } = row;
  return { ...record, issuedHashes: splitHashes(issuedHash) };
}

/** Stores a response. Replaces an expired record that has not been purged yet. @returns the length of the stored response, in bytes. */
export async function insertIdempotencyRecord(
  trx: Trx,
  name: IdempotencyName,
  record: IdempotencyRecord,
): Promise<number> {
  const text = JSON.stringify(record.answer);
  const answer = {
    request_hash: record.requestHash,
    status: record.status,
    answer: text,
    presented_hash: record.presentedHash,
    issued_hash: joinHashes(record.issuedHashes),
  };
  await trx
    .insertInto("idempotency_records")
    .values({ user_id: name.userId, method: name.method, path: name.path, key: name.key, ...answer })
    .onConflict((conflict) =>
      conflict
        .columns(["user_id", "method", "path", "key"])
        .doUpdateSet({ ...answer, created_at: sql`now()` }),
    )
    .execute();
  return Buffer.byteLength(text);
}

/** Records that a repeated request issued other secrets, and the answer about them. The record keeps its `created_at`. */
export async function updateIssuedSecrets(
  trx: Trx,
  name: IdempotencyName,
  { answer, issuedHashes }: Pick<IdempotencyRecord, "answer" | "issuedHashes">,
): Promise<void> {
  await trx
    .updateTable("idempotency_records")
    .set({ answer: JSON.stringify(answer), issued_hash: joinHashes(issuedHashes) })
    .where("user_id", "=", name.userId)
    .where("method", "=", name.method)
    .where("path", "=", name.path)
    .where("key", "=", name.key)
    .execute();
}

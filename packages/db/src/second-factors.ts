import { type RawBuilder, sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";

/** SQL for whether a user has a second factor. An authenticator app counts once its first code was entered. */
export function hasFactors(userId: RawBuilder<unknown>): RawBuilder<boolean> {
  const [start, middle, end] = hasFactorsText.map((text) => sql.raw(text));
  return sql<boolean>`${start}${userId}${middle}${userId}${end}`;
}

/** The same as text, for the user whose ID a column contains. */
export function hasFactorsIn(column: string): string {
  return hasFactorsText.join(column);
}

/**
 * The texts before, between and after the two IDs of the user. Without `exists`, which the planner may evaluate by a scan of the
 * whole table, and admission keeps its plans while the table grows.
 */
const hasFactorsText = [
  "((select true from totp_factors where confirmed_at is not null and totp_factors.user_id = ",
  ") is true or (select true from passkeys where passkeys.user_id = ",
  " limit 1) is true)",
] as const;

/** Whether a sign-in of the user asks for a second factor. */
export async function hasSecondFactor(db: Db, userId: UserId): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`select ${hasFactors(sql`${userId}`)} as has`.execute(db);
  return rows[0]?.has === true;
}

/** Finds which of these users have a second factor. */
export async function findUsersWithFactors(db: Db, userIds: readonly UserId[]): Promise<ReadonlySet<UserId>> {
  const { rows } = await sql<{ id: UserId }>`
    select id from unnest(${userIds}::uuid[]) as listed (id) where ${hasFactors(sql.ref("listed.id"))}`.execute(
    db,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Which second factors a user has. */
export async function findFactorKinds(
  db: Db,
  userId: UserId,
): Promise<{ readonly hasTotp: boolean; readonly hasPasskeys: boolean }> {
  const { rows } = await sql<{ hasTotp: boolean; hasPasskeys: boolean }>`
    select
      exists (select from totp_factors where user_id = ${userId} and confirmed_at is not null) as "hasTotp",
      exists (select from passkeys where user_id = ${userId}) as "hasPasskeys"`.execute(db);
  return { hasTotp: rows[0]?.hasTotp === true, hasPasskeys: rows[0]?.hasPasskeys === true };
}

/** The authenticator app of a user. */
export interface TotpFactor {
  /** Encrypted, see `FactorSecrets`. */
  readonly secret: Buffer;
  /** When the user entered the first code; null until then, and the factor has no effect. */
  readonly confirmedAt: Date | null;
  /** The database's clock, in seconds since 1970, because codes must not depend on the clock of a node. */
  readonly nowSeconds: number;
}

export async function findTotp(db: Db, userId: UserId): Promise<TotpFactor | undefined> {
  return await db
    .selectFrom("totp_factors")
    .select([
      "secret",
      "confirmed_at as confirmedAt",
      sql<number>`extract(epoch from clock_timestamp())::float8`.as("nowSeconds"),
    ])
    .where("user_id", "=", userId)
    .executeTakeFirst();
}

/** Stores a secret that has no effect until its first code is entered. Returns false if the user already has an app. */
export async function replaceUnconfirmedTotp(trx: Trx, userId: UserId, secret: Buffer): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto("totp_factors")
    .values({ user_id: userId, secret, confirmed_at: null, last_step: null })
    .onConflict((conflict) =>
      conflict.column("user_id").doUpdateSet({ secret }).where("totp_factors.confirmed_at", "is", null),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/** Enables the authenticator app with this secret. Returns false if the secret was replaced or confirmed since. */
export async function confirmTotp(
  trx: Trx,
  userId: UserId,
  { secret, step }: { readonly secret: Buffer; readonly step: number },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("totp_factors")
    .set({ confirmed_at: sql`clock_timestamp()`, last_step: step })
    .where("user_id", "=", userId)
    .where("secret", "=", secret)
    .where("confirmed_at", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Uses up the code of a time step, so that no node accepts it again. Of concurrent calls, one returns true. Codes of
 * earlier steps become invalid too.
 */
export async function consumeTotpStep(db: Db, userId: UserId, step: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("totp_factors")
    .set({ last_step: step })
    .where("user_id", "=", userId)
    .where("confirmed_at", "is not", null)
    .where((eb) => eb("last_step", "is", null).or("last_step", "<", step))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns false if the user has no authenticator app. Deletes one that is not confirmed too. */
export async function deleteTotp(trx: Trx, userId: UserId): Promise<boolean> {
  const deleted = await trx
    .deleteFrom("totp_factors")
    .where("user_id", "=", userId)
    .returning("confirmed_at")
    .executeTakeFirst();
  return deleted !== undefined && deleted.confirmed_at !== null;
}

/** Deletes all second factors of a user, and the recovery codes. */
export async function deleteSecondFactors(trx: Trx, userId: UserId): Promise<void> {
  await deleteTotp(trx, userId);
  await trx.deleteFrom("passkeys").where("user_id", "=", userId).execute();
  await replaceRecoveryCodes(trx, userId, []);
}

/** Replaces all recovery codes of a user. */
export async function replaceRecoveryCodes(
  trx: Trx,
  userId: UserId,
  digests: readonly Buffer[],
): Promise<void> {
  await trx.deleteFrom("recovery_codes").where("user_id", "=", userId).execute();
  if (digests.length === 0) return;
  await trx
    .insertInto("recovery_codes")
    .values(digests.map((digest) => ({ user_id: userId, digest })))
    .execute();
}

/** Uses up a recovery code. Of concurrent calls, one returns true. */
export async function consumeRecoveryCode(trx: Trx, userId: UserId, digest: Buffer): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("recovery_codes")
    .where("user_id", "=", userId)
    .where("digest", "=", digest)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export async function countRecoveryCodes(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom("recovery_codes")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

import { sql } from "kysely";
import { createId, type PasskeyId, type UserId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";

/** A credential as an authenticator created it. */
export interface PasskeyCredential {
  /** In base64url. */
  readonly credentialId: string;
  /** In COSE format. */
  readonly publicKey: Buffer;
  /** The authenticator's count of signatures; 0 if it doesn't count. */
  readonly signCount: number;
  readonly transports: readonly string[];
}

/** A passkey in the list of its user. */
export interface Passkey {
  readonly id: PasskeyId;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** Adds a passkey. Returns false if the credential is already registered. */
export async function insertPasskey(
  trx: Trx,
  userId: UserId,
  { credentialId, publicKey, signCount, transports, name }: PasskeyCredential & { readonly name: string },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto("passkeys")
    .values({
      id: createId("passkey"),
      user_id: userId,
      credential_id: credentialId,
      public_key: publicKey,
      sign_count: signCount,
      transports,
      name,
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.column("credential_id").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/** Lists a user's passkeys, the oldest first. */
export async function listPasskeys(db: Db, userId: UserId): Promise<Passkey[]> {
  return await db
    .selectFrom("passkeys")
    .select(["id", "name", "created_at as createdAt", "last_used_at as lastUsedAt"])
    .where("user_id", "=", userId)
    .orderBy("id")
    .execute();
}

/** Lists a user's credentials by what a browser needs to find them. */
export async function listPasskeyCredentials(
  db: Db,
  userId: UserId,
): Promise<Pick<PasskeyCredential, "credentialId" | "transports">[]> {
  return await db
    .selectFrom("passkeys")
    .select(["credential_id as credentialId", "transports"])
    .where("user_id", "=", userId)
    .orderBy("id")
    .execute();
}

/** Finds the passkey with a credential, and its user. */
export async function findPasskey(
  db: Db,
  credentialId: string,
): Promise<(PasskeyCredential & { readonly id: PasskeyId; readonly userId: UserId }) | undefined> {
  return await db
    .selectFrom("passkeys")
    .select([
      "id",
      "user_id as userId",
      "credential_id as credentialId",
      "public_key as publicKey",
      "sign_count as signCount",
      "transports",
    ])
    .where("credential_id", "=", credentialId)
    .executeTakeFirst();
}

/**
 * Records a use of a passkey. Returns false if it was removed, or if its count of signatures didn't increase since the
 * last use, which a copy of the authenticator would cause. A count of 0 means that the authenticator doesn't count.
 */
export async function recordPasskeyUse(trx: Trx, id: PasskeyId, signCount: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("passkeys")
    .set({ sign_count: signCount, last_used_at: sql`clock_timestamp()` })
    .where("id", "=", id)
    .where((eb) => (signCount === 0 ? eb("sign_count", "=", 0) : eb("sign_count", "<", signCount)))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** A passkey of a user. Both IDs are needed, because users can name only their own. */
interface OwnPasskey {
  readonly userId: UserId;
  readonly id: PasskeyId;
}

/** Changes the name of a passkey. Returns the former one; undefined if the user has no such passkey. */
export async function renamePasskey(
  trx: Trx,
  { userId, id }: OwnPasskey,
  name: string,
): Promise<string | undefined> {
  const passkey = await trx
    .selectFrom("passkeys")
    .select("name")
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .forUpdate()
    .executeTakeFirst();
  if (passkey) await trx.updateTable("passkeys").set({ name }).where("id", "=", id).execute();
  return passkey?.name;
}

/** Deletes a passkey. Returns its name; undefined if the user has no such passkey. */
export async function deletePasskey(trx: Trx, { userId, id }: OwnPasskey): Promise<string | undefined> {
  const deleted = await trx
    .deleteFrom("passkeys")
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .returning("name")
    .executeTakeFirst();
  return deleted?.name;
}

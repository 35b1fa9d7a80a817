import { sql } from "kysely";
import type { KeyId, UserId } from "./ids.ts";
import { type KeySettings, selectSettings } from "./key-settings.ts";
import type { Trx } from "./schema.ts";

/** Of a row of `api_keys`: whether it may be used at all. */
const isInForce = sql<boolean>`
  deleted_at is null and disabled_at is null and (expires_at is null or expires_at > clock_timestamp())`;

/**
 * Whether a user may still act: they are not disabled. A request may have been let in long before its body had come. Lock
 * the user before, with `lockUsers`, so that this does not change until the transaction ends.
 */
export async function isUserActing(trx: Trx, userId: UserId): Promise<boolean> {
  const user = await trx
    .selectFrom("users")
    .select("id")
    .where("id", "=", userId)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  return user !== undefined;
}

/** A key that somebody acts by. */
export interface HeldKey {
  readonly settings: KeySettings;
  /** Whether the secret is one that it had before, and that is still good. */
  readonly isByFormerSecret: boolean;
}

/**
 * What the key is held to that somebody acts by, undefined where it or the secret is not in force any more; so until the
 * transaction ends. Lock the user before, with `lockUsers`.
 * @param digest of the secret that was presented, in base64.
 */
export async function lockActingKey(
  trx: Trx,
  { keyId, digest }: { readonly keyId: KeyId; readonly digest: string },
): Promise<HeldKey | undefined> {
  const hash = Buffer.from(digest, "base64");
  const row = await trx
    .selectFrom("api_keys")
    .select([...selectSettings, sql<boolean>`hash <> ${hash}`.as("isByFormerSecret")])
    .where("id", "=", keyId)
    .where(isInForce)
    .where(
      sql<boolean>`(hash = ${hash} or exists (
        select from retired_secrets former
        where former.key_id = api_keys.id and former.hash = ${hash} and good_until > clock_timestamp()))`,
    )
    .forShare()
    .executeTakeFirst();
  if (!row) return undefined;
  const { isByFormerSecret, ...settings } = row;
  return { settings, isByFormerSecret };
}

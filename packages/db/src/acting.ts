import { sql } from "kysely";
import type { Actor } from "./audit-actions.ts";
import type { KeyId } from "./ids.ts";
import { type KeySettings, selectSettings } from "./key-settings.ts";
import type { Trx } from "./schema.ts";

/** Of a row of `api_keys`: whether it may be used at all. */
const isInForce = sql<boolean>`
  deleted_at is null and disabled_at is null and (expires_at is null or expires_at > clock_timestamp())`;

type Caller = Exclude<Actor, { readonly kind: "command" }>;

/**
 * Whether somebody may still act: their user is not disabled, and the key that they act by is in force. A request may
 * have been let in long before its body had come. Lock the user before, with `lockUsers`, so that neither changes until
 * the transaction ends.
 */
export async function isStillActing(trx: Trx, actor: Caller): Promise<boolean> {
  const user = await trx
    .selectFrom("users")
    .select("id")
    .where("id", "=", actor.userId)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  if (!user || actor.kind === "session") return user !== undefined;
  const key = await trx
    .selectFrom("api_keys")
    .select("id")
    .where("id", "=", actor.keyId)
    .where(isInForce)
    .forShare()
    .executeTakeFirst();
  return key !== undefined;
}

/** What a key is held to right now. */
export async function findActingKey(
  trx: Trx,
  id: KeyId,
): Promise<Pick<KeySettings, "workspaceIds" | "permissions" | "isReadOnly"> | undefined> {
  return await trx.selectFrom("api_keys").select(selectSettings).where("id", "=", id).executeTakeFirst();
}

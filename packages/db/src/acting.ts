import type { Actor } from "./audit-actions.ts";
import type { Trx } from "./schema.ts";

type Caller = Exclude<Actor, { readonly kind: "command" }>;

/**
 * Whether somebody may still act: their user is not disabled, and the key that they act by is not deleted. A request may
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
    .where("deleted_at", "is", null)
    .forShare()
    .executeTakeFirst();
  return key !== undefined;
}

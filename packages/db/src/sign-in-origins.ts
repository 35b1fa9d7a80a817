import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";

/** How long a device or network is remembered after the last sign-in from it, in days. */
export const originLifetimeDays = 90;

/** The most devices and networks that are remembered per user: those used last. */
const maxPerUser = 20;

/** Finds which of these origins a user has signed in from before, as hexadecimal digests. */
export async function findKnownOrigins(db: Db, digests: readonly Buffer[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom("sign_in_origins")
    .select("digest")
    .where("digest", "in", digests)
    .where(sql<boolean>`last_used_at > now() - make_interval(days => ${originLifetimeDays})`)
    .execute();
  return new Set(rows.map(({ digest }) => digest.toString("hex")));
}

/**
 * Remembers the origins of a sign-in, unless the user was deleted since. Deletes the user's least recently used origins
 * beyond the maximum.
 */
export async function rememberOrigins(db: Db, userId: UserId, digests: readonly Buffer[]): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Locks the user before the origins, as the deletion of the user does, so that the two can't deadlock.
    const { rows } = await sql`select id from users where id = ${userId} for key share`.execute(trx);
    if (rows.length === 0) return;
    await sql`
      insert into sign_in_origins (digest, user_id, last_used_at)
      select digest, ${userId}, now() from unnest(${digests}::bytea[]) as origin (digest) order by digest
      on conflict (digest) do update
        -- The email address may have belonged to another user before.
        set user_id = excluded.user_id, last_used_at = excluded.last_used_at`.execute(trx);
    await sql`
      delete from sign_in_origins where digest = any(array(
        select digest from sign_in_origins where user_id = ${userId}
        order by last_used_at desc, digest offset ${maxPerUser} for update skip locked
      ))`.execute(trx);
  });
}

/**
 * Replaces the origins of a user by those that are known under the former digests. They stay known under the next ones for as long
 * as they were under the former ones. The user must be locked, as in {@link rememberOrigins}.
 */
export async function replaceOrigins(
  trx: Trx,
  userId: UserId,
  digests: readonly { readonly former: Buffer; readonly next: Buffer }[],
): Promise<void> {
  await sql`
    insert into sign_in_origins (digest, user_id, last_used_at)
    select copy.next, ${userId}, last_used_at
    from unnest(${digests.map(({ former }) => former)}::bytea[], ${digests.map(({ next }) => next)}::bytea[])
      as copy (former, next)
    join sign_in_origins on digest = copy.former and user_id = ${userId}
    order by copy.next
    on conflict (digest) do update set user_id = excluded.user_id, last_used_at = excluded.last_used_at`.execute(
    trx,
  );
  await sql`
    delete from sign_in_origins where digest = any(array(
      select digest from sign_in_origins
      where user_id = ${userId} and digest <> all(${digests.map(({ next }) => next)}::bytea[])
      order by digest for update
    ))`.execute(trx);
}

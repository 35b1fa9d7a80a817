import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Trx } from "./schema.ts";

/** How long a device is remembered after the last sign-in from it, in days. */
export const deviceLifetimeDays = 180;

/** The most devices that are remembered per user: those used last. */
const maxPerUser = 50;

/** Forgets all devices of a user, and deletes the notices about them, which would prevent another notice about the same device. */
export async function forgetDevices(trx: Trx, userId: UserId): Promise<void> {
  await trx.deleteFrom("known_devices").where("user_id", "=", userId).execute();
  await trx.deleteFrom("notices").where("user_id", "=", userId).where("kind", "=", "new-device").execute();
}

/**
 * Remembers a device of a user, who must exist.
 * @returns whether it is new, and the user has signed in from another one before.
 */
export async function rememberDevice(trx: Trx, userId: UserId, device: string): Promise<boolean> {
  // Concurrent sign-ins of a user run one after the other, so that each one reads the devices of the previous ones.
  await sql`select from users where id = ${userId} for no key update`.execute(trx);
  const known = await trx
    .selectFrom("known_devices")
    .select("device")
    .where("user_id", "=", userId)
    .orderBy("last_used_at", "desc")
    .execute();
  await trx
    .insertInto("known_devices")
    .values({ user_id: userId, device, last_used_at: sql<Date>`clock_timestamp()` })
    .onConflict((conflict) =>
      conflict
        .columns(["user_id", "device"])
        .doUpdateSet((eb) => ({ last_used_at: eb.ref("excluded.last_used_at") })),
    )
    .execute();
  const isKnown = known.some((row) => row.device === device);
  const surplus = isKnown ? [] : known.slice(maxPerUser - 1).map((row) => row.device);
  if (surplus.length > 0) {
    await trx
      .deleteFrom("known_devices")
      .where("user_id", "=", userId)
      .where("device", "in", surplus)
      .execute();
  }
  return !isKnown && known.length > 0;
}

import { readClock } from "@latchkey/db/clock";
import type { KeySettings } from "@latchkey/db/key-settings";
import type { Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";

/** When a key expires: at a time, or so many seconds from now; null for never. The database's clock decides. */
export type Expiry = Date | { readonly inSeconds: number } | null;

/** Settings of a key as a caller requests them; a setting that is not named keeps its value. */
export type RequestedSettings = Partial<Omit<KeySettings, "expiresAt">> & {
  readonly expiresAt?: Expiry;
};

/**
 * Settings with their expiry as a time.
 *
 * The comparison is made with the database's clock because admission expires keys by that clock: a node whose clock is an
 * hour off would otherwise reject good times, or accept times that have passed.
 *
 * @throws {AppError} BAD_REQUEST when the key would already be expired.
 */
export async function resolveExpiry(
  trx: Trx,
  { expiresAt, ...settings }: RequestedSettings,
): Promise<Partial<KeySettings>> {
  if (expiresAt === undefined) return settings;
  if (expiresAt === null) return { ...settings, expiresAt };
  const now = await readClock(trx);
  const time = expiresAt instanceof Date ? expiresAt : new Date(now.getTime() + expiresAt.inSeconds * 1_000);
  if (time > now) return { ...settings, expiresAt: time };
  const issue = { path: "expiresAt", code: "not_in_future", message: "Enter a future date." } as const;
  throw new AppError("BAD_REQUEST", { issues: [issue] });
}

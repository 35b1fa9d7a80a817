import { readClock } from "@latchkey/db/clock";
import type { KeySettings } from "@latchkey/db/key-settings";
import type { Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";

/** When a key expires: at a time, or a number of seconds from now by the database's clock; null for never. */
export type Expiry = Date | { readonly inSeconds: number } | null;

/** Settings of a key as a caller requests them. Settings that are left out keep their value. */
export type RequestedSettings = Partial<Omit<KeySettings, "expiresAt">> & {
  readonly expiresAt?: Expiry;
};

/**
 * Resolves the expiry of settings to a time, by {@link resolveExpiryTime}.
 * @throws {AppError} BAD_REQUEST if the key would already be expired.
 */
export async function resolveExpiry(
  trx: Trx,
  { expiresAt, ...settings }: RequestedSettings,
): Promise<Partial<KeySettings>> {
  return expiresAt === undefined
    ? settings
    : { ...settings, expiresAt: await resolveExpiryTime(trx, expiresAt) };
}

/** The time of an expiry, counted from a time. */
export function toExpiryTime(expiry: NonNullable<Expiry>, now: Date): Date {
  return expiry instanceof Date ? expiry : new Date(now.getTime() + expiry.inSeconds * 1_000);
}

/**
 * Resolves an expiry to a time.
 *
 * Uses the database's clock because admission expires keys by that clock. Otherwise, a node whose clock is an hour off
 * would reject future times or accept past ones.
 *
 * @param path the field of the request with the expiry.
 * @throws {AppError} BAD_REQUEST if the key would already be expired.
 */
export async function resolveExpiryTime(trx: Trx, expiry: Expiry, path = "expiresAt"): Promise<Date | null> {
  if (expiry === null) return null;
  const now = await readClock(trx);
  const time = toExpiryTime(expiry, now);
  if (time > now) return time;
  const issue = { path, code: "not_in_future", message: "Enter a future date." } as const;
  throw new AppError("BAD_REQUEST", { issues: [issue] });
}

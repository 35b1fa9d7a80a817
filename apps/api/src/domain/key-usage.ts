import type { UserId } from "@latchkey/db/ids";
import { readKeyUsage, type UsageBucket, type UsagePeriod } from "@latchkey/db/key-history";
import type { Db } from "@latchkey/db/schema";
import { asUser } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { roundToBuckets } from "./round-to-buckets.ts";

/**
 * The most counts in one response. A user can be a member of any number of workspaces, and each hour has a count per
 * workspace and outcome.
 */
export const maxUsageCounts = 10_000;

/**
 * Reads the usage of one of the user's own keys, oldest first, in the hours or days in UTC that begin in a period.
 * @throws {AppError} BAD_REQUEST if the period has more than {@link maxUsageCounts}.
 */
export async function readOwnKeyUsage(db: Db, userId: UserId, period: UsagePeriod): Promise<UsageBucket[]> {
  const limit = maxUsageCounts + 1;
  const rounded = { ...period, ...roundToBuckets(period) };
  const rows = await asUser(db, userId, (trx) => readKeyUsage(trx, { ...rounded, limit }));
  if (rows.length < limit) return rows;
  const message = `the period has more than ${maxUsageCounts.toLocaleString("en-US")} counts. Use an earlier time, or "day" as "bucket".`;
  throw new AppError("BAD_REQUEST", { issues: [{ path: "to", code: "invalid_range", message }] });
}

import { countOf, formatCount } from "./count.ts";
import { describeDuration } from "./elapsed.ts";

/** A rate limit: "100 requests per minute", "500 requests per 90 seconds". */
export function describeLimit({
  quota,
  windowSeconds,
}: {
  readonly quota: number;
  readonly windowSeconds: number;
}): string {
  const requests = countOf(quota, "request", "requests");
  return `${requests} per ${describeDuration(windowSeconds).replace(/^1 /, "")}`;
}

/** "1 permission", "3 permissions". */
export function describePermissions(permissions: readonly string[]): string {
  return `${formatCount(permissions.length)} ${permissions.length === 1 ? "permission" : "permissions"}`;
}

import type { KeySettings } from "../../server/trpc.ts";
import { type RestrictionValues, toSettings } from "./restrictions/restriction-values.ts";

/**
 * The settings that policies check. A policy can require IP ranges, but not which ones, so only the first one is sent: the URL of
 * a query has no room for all of them.
 * @param onlyWorkspaceId the only workspace that the key can reach; undefined for a person's key.
 */
export function toPolicySettings(values: RestrictionValues, onlyWorkspaceId?: string): KeySettings {
  const { expiresAt = null, workspaceIds, ipRanges } = toSettings(values);
  return {
    expiresAt,
    workspaceIds: onlyWorkspaceId === undefined ? workspaceIds : [onlyWorkspaceId],
    ipRanges: ipRanges?.slice(0, 1) ?? null,
  };
}

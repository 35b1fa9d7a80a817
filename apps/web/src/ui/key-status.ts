import { countOf } from "./count.ts";
import type { StatusTone } from "./status-badge.tsx";

export interface KeyStatus {
  readonly label: string;
  readonly tone: StatusTone;
}

/** The properties of a key that its status depends on. */
export interface KeyState {
  readonly isDisabled: boolean;
  readonly isOwnerDisabled?: boolean;
  /** Whether the balance of an issued key is 0. */
  readonly isOutOfCredits?: boolean;
  readonly expiresAt: string | null;
  /** Whether an old secret is still valid. */
  readonly isRotating: boolean;
  /** Whether a request was rate limited in this clock hour or the one before: requests are counted by clock hour. */
  readonly isRateLimited?: boolean;
  /** Whether the workspace of the list blocks the key. */
  readonly isBlocked?: boolean;
  /** The rule of the workspace that rejects the key. */
  readonly violation?: string | null;
}

const dayMs = 86_400_000;
/** The time before its expiry in which a key needs attention. */
const soonDays = 7;

/**
 * The statuses of a key: one if it doesn't work, else "Active" or everything that needs attention.
 */
export function describeStatus(key: KeyState, now: Date): readonly KeyStatus[] {
  if (key.isDisabled) return [{ label: "Disabled", tone: "rejected" }];
  const leftMs = key.expiresAt === null ? undefined : Date.parse(key.expiresAt) - now.getTime();
  if (leftMs !== undefined && leftMs <= 0) return [describeTimeLeft(leftMs)];
  if (key.isOwnerDisabled) return [{ label: "Owner disabled", tone: "rejected" }];
  if (key.isBlocked) return [{ label: "Blocked here", tone: "rejected" }];
  if (key.violation === "idle") return [{ label: "Idle", tone: "rejected" }];
  if (key.violation === "second-factor-required") return [{ label: "No second factor", tone: "rejected" }];
  if (key.violation) return [{ label: "Violates policy", tone: "rejected" }];
  if (key.isOutOfCredits) return [{ label: "Out of credits", tone: "rejected" }];
  const notable: KeyStatus[] = [
    ...(leftMs !== undefined && leftMs <= soonDays * dayMs ? [describeTimeLeft(leftMs)] : []),
    ...(key.isRotating ? [{ label: "Rotating", tone: "neutral" } as const] : []),
    ...(key.isRateLimited ? [{ label: "Rate limited", tone: "limited" } as const] : []),
  ];
  return notable.length > 0 ? notable : [{ label: "Active", tone: "allowed" }];
}

/** Describes when a key expires, or that it has expired. @param leftMs the time left, in milliseconds. */
export function describeTimeLeft(leftMs: number): KeyStatus {
  if (leftMs <= 0) return { label: "Expired", tone: "rejected" };
  return {
    label: `Expires in ${describeDuration(leftMs)}`,
    tone: leftMs <= soonDays * dayMs ? "attention" : "neutral",
  };
}

function describeDuration(milliseconds: number): string {
  if (milliseconds >= dayMs) return countOf(Math.round(milliseconds / dayMs), "day", "days");
  const hours = Math.floor(milliseconds / 3_600_000);
  if (hours >= 1) return countOf(hours, "hour", "hours");
  return `${Math.max(1, Math.floor(milliseconds / 60_000))} min`;
}

/** The labels of the API's status filters. */
export const statusFilters = {
  active: "Active",
  disabled: "Disabled",
  expiring: "Expires within 30 days",
  expired: "Expired",
  rotating: "Rotating",
  limited: "Rate limited in this or the previous hour",
  unused: "Unused for 30 days",
} as const;

/** The status filters of a workspace's keys. */
export const workspaceStatusFilters = {
  ...statusFilters,
  blocked: "Blocked here",
  policy: "Violates policy or idle",
} as const;

export type StatusFilter = keyof typeof statusFilters;

export type WorkspaceStatusFilter = keyof typeof workspaceStatusFilters;

export function isWorkspaceStatusFilter(text: unknown): text is WorkspaceStatusFilter {
  return typeof text === "string" && Object.hasOwn(workspaceStatusFilters, text);
}

export function isStatusFilter(text: unknown): text is StatusFilter {
  return typeof text === "string" && Object.hasOwn(statusFilters, text);
}

import type { IssuedKey, Keyspace } from "../../server/trpc.ts";
import { describeStatus, type KeyStatus } from "../../ui/key-status.ts";
import type { StatusBadgeProps } from "../../ui/status-badge.tsx";

export function describeKeyspaceStatus({ isDisabled }: Pick<Keyspace, "isDisabled">): StatusBadgeProps {
  return isDisabled ? { label: "Disabled", tone: "rejected" } : { label: "Active", tone: "allowed" };
}

/** The statuses of an issued key: one if it is not valid, else "Active" or everything that needs attention. */
export function describeIssuedStatus(
  { isDisabled, expiresAt, status, formerSecrets }: IssuedKey,
  now: Date,
): readonly KeyStatus[] {
  const isRotating = formerSecrets.some(({ goodUntil }) => new Date(goodUntil) > now);
  const isOutOfCredits = status === "out-of-credits";
  return describeStatus({ isDisabled, expiresAt, isRotating, isOutOfCredits }, now);
}

/** The start of a secret, which isn't known for every imported key. */
export function describeSecret({ start }: Pick<IssuedKey, "start">): string {
  return start === "" ? "Imported key" : `${start}…`;
}

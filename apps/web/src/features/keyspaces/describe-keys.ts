import { countOf, formatCount } from "../../ui/count.ts";

/** How many keys a consumer or a keyspace has. */
interface KeyCounts {
  readonly keyCount: number;
  /** The number of these keys that are neither disabled, expired nor out of credits. */
  readonly activeKeyCount: number;
}

/** How many keys stop working if a keyspace is deleted or disabled. */
interface ImpactCounts extends KeyCounts {
  /** Whether only the newest keys were examined. A node of an earlier version sends neither this nor `activeKeyCount`. */
  readonly isActiveKeyCountPartial?: boolean;
}

/** "3 keys, 2 of them active", "3 keys, all active". */
export function describeKeys({ keyCount, activeKeyCount }: KeyCounts): string {
  const keys = countOf(keyCount, "key", "keys");
  if (keyCount === 0) return "No keys";
  if (keyCount === 1) return `${keys}, ${activeKeyCount === 1 ? "active" : "not active"}`;
  if (activeKeyCount === keyCount) return `${keys}, all active`;
  return `${keys}, ${activeKeyCount === 0 ? "none" : formatCount(activeKeyCount)} of them active`;
}

/** As {@link describeKeys}, or "12,000 keys, at least 9,000 of them active". */
export function describeImpact(impact: ImpactCounts): string {
  if (isExact(impact)) return describeKeys(impact);
  const keys = countOf(impact.keyCount, "key", "keys");
  return impact.isActiveKeyCountPartial && impact.activeKeyCount > 0
    ? `${keys}, at least ${formatCount(impact.activeKeyCount)} of them active`
    : keys;
}

/** What disabling a keyspace does. @param impact undefined until it has loaded. */
export function describeDisabling(impact: ImpactCounts | undefined): string {
  const keys =
    impact && isExact(impact) && impact.activeKeyCount > 0
      ? countOf(impact.activeKeyCount, "active key", "active keys")
      : "keys";
  return `Verifications of its ${keys} fail with DISABLED from the next request, until you enable the keyspace again.`;
}

/** What deleting a keyspace does. @param impact undefined until it has loaded. */
export function describeDeletion(
  impact: ImpactCounts | undefined,
  { isDisabled }: { readonly isDisabled: boolean },
): string {
  return `${describeDeletedKeys(impact, isDisabled)} This can’t be undone.`;
}

const whenTheyStop = "from the next request, on every service that verifies them";

function describeDeletedKeys(impact: ImpactCounts | undefined, isDisabled: boolean): string {
  if (!impact) return "Its keys are deleted.";
  const { keyCount, activeKeyCount } = impact;
  if (keyCount === 0) return "The keyspace has no keys.";
  const isOne = keyCount === 1;
  const deleted = isOne ? "1 key is deleted" : `${countOf(keyCount, "key", "keys")} are deleted`;
  if (isDisabled || (isExact(impact) && activeKeyCount === 0))
    return `${deleted}. ${isOne ? "It doesn’t work" : "None of them works"} now.`;
  if (!isExact(impact)) return `${deleted}. Those that are active stop working ${whenTheyStop}.`;
  if (isOne) return `${deleted} and stops working from the next request, on every service that verifies it.`;
  if (activeKeyCount === keyCount) return `${deleted} and stop working ${whenTheyStop}.`;
  return activeKeyCount === 1
    ? `${deleted}. The active one stops working from the next request, on every service that verifies it.`
    : `${deleted}. The ${formatCount(activeKeyCount)} active ones stop working ${whenTheyStop}.`;
}

function isExact({ isActiveKeyCountPartial }: ImpactCounts): boolean {
  return isActiveKeyCountPartial === false;
}

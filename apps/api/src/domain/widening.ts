import { containsIpRange } from "@latchkey/auth/ip-ranges";
import type { KeySettings } from "@latchkey/db/key-settings";

type Rule<Name extends keyof KeySettings> = (before: KeySettings[Name], after: KeySettings[Name]) => boolean;

/** For each setting, whether the change lets a key do what it could not do before. */
const widens: { readonly [Name in keyof KeySettings]: Rule<Name> } = {
  isDisabled: (before, after) => before && !after,
  expiresAt: (before, after) => before !== null && (after === null || after > before),
  workspaceIds: hasMore,
  permissions: hasMore,
  isReadOnly: (before, after) => before && !after,
  ipRanges: (before, after) =>
    before !== null &&
    (after === null || !after.every((range) => before.some((around) => containsIpRange(around, range)))),
  limit: (before, after) =>
    before !== null &&
    (after === null || after.quota > before.quota || after.windowSeconds < before.windowSeconds),
};

/** The settings by which a key could do what it could not do before. */
export function listWidened(before: KeySettings, after: KeySettings): readonly (keyof KeySettings)[] {
  const isWidened = <Name extends keyof KeySettings>(name: Name) => widens[name](before[name], after[name]);
  return (Object.keys(widens) as (keyof KeySettings)[]).filter(isWidened); // The table's keys.
}

function hasMore(before: readonly string[] | null, after: readonly string[] | null): boolean {
  return before !== null && (after === null || !after.every((item) => before.includes(item)));
}

import { formatCount } from "./count.ts";

/** Says how many of these keys have been used. */
export function describeUses(keys: readonly { readonly lastUsedAt: string | null }[]): string {
  const usedCount = keys.filter(({ lastUsedAt }) => lastUsedAt !== null).length;
  if (keys.length === 1) return usedCount === 0 ? "This key has never been used." : "This key has been used.";
  if (usedCount === keys.length) return `All ${formatCount(usedCount)} have been used.`;
  return usedCount === 0
    ? "None of them has ever been used."
    : `${formatCount(usedCount)} of them ${usedCount === 1 ? "has" : "have"} been used.`;
}

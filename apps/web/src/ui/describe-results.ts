import { countOf, formatCount } from "./count.ts";
import type { LogTableSearch } from "./table-search.ts";

/** The range of a page of a list: "3 keys", or "26–31 of 31 keys" if there are several pages. */
export function describeResults(
  { page, size, total }: { readonly page: number; readonly size: number; readonly total: number },
  singular: string,
  plural: string,
): string {
  const all = countOf(total, singular, plural);
  if (total <= size) return all;
  const first = (page - 1) * size + 1;
  return `${formatCount(first)}–${formatCount(Math.min(page * size, total))} of ${all}`;
}

/** How many items of a list are shown whose number is unknown: "50+ keys" if there are more. */
export function describePart(count: number, hasMore: boolean, nouns: readonly [string, string]): string {
  return hasMore ? `${formatCount(count)}+ ${nouns[1]}` : countOf(count, ...nouns);
}

/** How many entries of a log are shown, such as "The latest 50 events". */
export function describeLogCount(
  count: number,
  hasMore: boolean,
  { sort }: LogTableSearch,
  [singular, plural]: readonly [string, string] = ["event", "events"],
): string {
  const entries = countOf(count, singular, plural);
  // Only the order that isn't the default is in the URL.
  return hasMore ? `The ${sort === undefined ? "latest" : "oldest"} ${entries}` : entries;
}

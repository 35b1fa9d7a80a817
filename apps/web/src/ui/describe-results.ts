import { countOf, formatCount } from "./count.ts";

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

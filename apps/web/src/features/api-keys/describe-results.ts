import { countOf, formatCount } from "../../ui/count.ts";
import { pageSize } from "./use-api-keys.ts";

/** What a page of so many keys shows: "3 keys", or "26–31 of 31 keys" where there are several pages. */
export function describeResults(page: number, total: number): string {
  const keys = countOf(total, "key", "keys");
  if (total <= pageSize) return keys;
  const first = (page - 1) * pageSize + 1;
  return `${formatCount(first)}–${formatCount(Math.min(page * pageSize, total))} of ${keys}`;
}

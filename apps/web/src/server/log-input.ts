import type { LogTableSearch } from "../ui/table-search.ts";

/** The order and the page size of a log in a call of the API. */
export function toLogInput({ sort, size }: LogTableSearch) {
  return { ...(size && { pageSize: size }), ...(sort === "occurredAt" && { sort: "occurredAt" as const }) };
}

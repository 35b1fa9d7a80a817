import { maxLength } from "@latchkey/limits";
import { isRole } from "../../server/roles.ts";
import type { Role } from "../../server/trpc.ts";

export type MemberOrder = "joinedAt" | "name" | "email";
export type MemberSort = MemberOrder | `-${MemberOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultSort = "joinedAt" satisfies MemberSort;

const sorts: ReadonlySet<unknown> = new Set<MemberSort>([
  "joinedAt",
  "-joinedAt",
  "name",
  "-name",
  "email",
  "-email",
]);

/** The search part of the URL of the members page. */
export interface MembersSearch {
  readonly q?: string;
  readonly role?: Role;
  readonly sort?: MemberSort;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseMembersSearch(search: Record<string, unknown>): MembersSearch {
  const { role, sort } = search;
  // `slice` can split a surrogate pair, and a URL can't contain a lone surrogate.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  return {
    ...(q.trim() !== "" && { q }),
    ...(isRole(role) && { role }),
    ...(isSort(sort) && sort !== defaultSort && { sort }),
  };
}

export function isSort(text: unknown): text is MemberSort {
  return sorts.has(text);
}

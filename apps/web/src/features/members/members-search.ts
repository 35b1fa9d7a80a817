import { maxLength } from "@latchkey/limits";
import { isRole } from "../../server/roles.ts";
import type { Role } from "../../server/trpc.ts";

/** What the API takes at most. */

export type MemberOrder = "joinedAt" | "name" | "email";
export type MemberSort = MemberOrder | `-${MemberOrder}`;

/** What the list is sorted by where the address says nothing. */
export const usualSort = "joinedAt" satisfies MemberSort;

/** What each order is called where there is no head of a column to press. */
export const sortTitles = {
  joinedAt: "Joined, oldest first",
  "-joinedAt": "Joined, newest first",
  name: "Name, A to Z",
  "-name": "Name, Z to A",
  email: "Email address, A to Z",
  "-email": "Email address, Z to A",
} as const satisfies Record<MemberSort, string>;

/** What the address of the members page says. */
export interface MembersSearch {
  readonly q?: string;
  readonly role?: Role;
  readonly sort?: MemberSort;
}

/** Reads the search part of the address; what makes no sense there is dropped. */
export function parseMembersSearch(search: Record<string, unknown>): MembersSearch {
  const { role, sort } = search;
  // Half a pair of units may be left at the end, which no address can hold.
  const q = typeof search.q === "string" ? search.q.slice(0, maxLength.search).toWellFormed() : "";
  return {
    ...(q.trim() !== "" && { q }),
    ...(isRole(role) && { role }),
    ...(isSort(sort) && sort !== usualSort && { sort }),
  };
}

export function isSort(text: unknown): text is MemberSort {
  return typeof text === "string" && Object.hasOwn(sortTitles, text);
}

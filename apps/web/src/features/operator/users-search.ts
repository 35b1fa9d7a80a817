import { type ListSearch, parseListSearch } from "./list-search.ts";

/** The orders of the users of the instance; the first one is the default. */
const sorts = ["createdAt", "-createdAt", "name", "-name", "email", "-email"] as const;

export type UserSort = (typeof sorts)[number];

export const defaultSort = sorts[0];

export type UsersSearch = ListSearch<UserSort>;

export function parseUsersSearch(search: Record<string, unknown>): UsersSearch {
  return parseListSearch(search, sorts);
}

export function isUserSort(text: string): text is UserSort {
  return sorts.some((sort) => sort === text);
}

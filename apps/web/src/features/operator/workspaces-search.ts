import { type ListSearch, parseListSearch } from "./list-search.ts";

/** The orders of the workspaces of the instance; the first one is the default. */
const sorts = ["createdAt", "-createdAt", "name", "-name", "slug", "-slug"] as const;

export type WorkspaceSort = (typeof sorts)[number];

export const defaultSort = sorts[0];

export type WorkspacesSearch = ListSearch<WorkspaceSort>;

export function parseWorkspacesSearch(search: Record<string, unknown>): WorkspacesSearch {
  return parseListSearch(search, sorts);
}

export function isWorkspaceSort(text: string): text is WorkspaceSort {
  return sorts.some((sort) => sort === text);
}

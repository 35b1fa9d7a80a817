/** The label of each status that users and workspaces can be filtered by. */
export const statusTitles = { active: "Active", disabled: "Disabled" } as const;

/** The part of the search of a URL that filters by status. */
export interface StatusSearch {
  readonly status?: keyof typeof statusTitles;
}

/** Reads the status in the search part of a URL, and drops what isn't valid. */
export function parseStatus({ status }: Record<string, unknown>): StatusSearch {
  return status === "active" || status === "disabled" ? { status } : {};
}

/** Converts the status to the input of the API. */
export function toStatusQuery({ status }: StatusSearch): { readonly isDisabled?: boolean } {
  return status ? { isDisabled: status === "disabled" } : {};
}

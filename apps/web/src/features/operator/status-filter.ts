/** The label of each status that users and workspaces can be filtered by. */
export const statusTitles = { active: "Active", disabled: "Disabled" } as const;

/** The part of a query string that filters by status. */
export interface StatusSearch {
  readonly status?: keyof typeof statusTitles;
}

/** Parses the status in the query string, and drops an invalid one. */
export function parseStatus({ status }: Record<string, unknown>): StatusSearch {
  return status === "active" || status === "disabled" ? { status } : {};
}

/** Converts the status to the input of the API. */
export function toStatusQuery({ status }: StatusSearch): { readonly isDisabled?: boolean } {
  return status ? { isDisabled: status === "disabled" } : {};
}

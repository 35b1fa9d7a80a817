export type InvitationOrder = "createdAt" | "email";
export type InvitationSort = InvitationOrder | `-${InvitationOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultInvitationSort = "createdAt" satisfies InvitationSort;

const sorts: ReadonlySet<unknown> = new Set<InvitationSort>(["createdAt", "-createdAt", "email", "-email"]);

/** The search part of the URL of the invitations page. */
export interface InvitationsSearch {
  readonly sort?: InvitationSort;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseInvitationsSearch({ sort }: Record<string, unknown>): InvitationsSearch {
  return isInvitationSort(sort) && sort !== defaultInvitationSort ? { sort } : {};
}

export function isInvitationSort(text: unknown): text is InvitationSort {
  return sorts.has(text);
}

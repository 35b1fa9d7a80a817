/** The search part of the URL of the notices. */
export interface NoticesSearch {
  /** Present if only unread notices are listed. */
  readonly show?: "unread";
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseNoticesSearch({ show }: Record<string, unknown>): NoticesSearch {
  return show === "unread" ? { show } : {};
}

/** The search part of the URL of the instance log. */
export interface LogSearch {
  /** The ID of the user whom the events are about. */
  readonly user?: string;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseLogSearch({ user }: Record<string, unknown>): LogSearch {
  return typeof user === "string" && /^usr_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(user) ? { user } : {};
}

/** The search part of the URL of the audit log. */
export interface AuditLogSearch {
  /** An action, or a text of its form, which filters nothing: the router is loaded without the list of actions. */
  readonly action?: string;
  /** The ID of the user who made the changes. */
  readonly actor?: string;
  /** The ID of the member, API key, invitation or workspace that was changed. */
  readonly target?: string;
  /** The first and the last day, such as `2026-03-01`, in the reader's time zone. */
  readonly from?: string;
  readonly to?: string;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseAuditLogSearch(search: Record<string, unknown>): AuditLogSearch {
  const { action, actor, target, from, to } = search;
  return {
    ...(isAction(action) && { action }),
    ...(isIdOf(actor, "usr") && { actor }),
    ...(isTarget(target) && { target }),
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to }),
  };
}

/** Whether a text has the form of an action, such as `member.role-changed`. */
function isAction(text: unknown): text is string {
  return typeof text === "string" && /^[a-z-]+\.[a-z-]+$/.test(text);
}

/** Whether a text is the ID of something that an event can be about. */
export function isTarget(text: unknown): text is string {
  return isIdOf(text, "(?:usr|key|inv|whk|ws)");
}

function isIdOf(text: unknown, prefix: string): text is string {
  return typeof text === "string" && new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`).test(text);
}

/** Whether a text is a day that exists, in a year of four digits: a year that is being typed has fewer. */
export function isDay(text: unknown): text is string {
  // For a day that doesn't exist, such as February 30, the time is that of another day.
  return (
    typeof text === "string" &&
    /^[1-9]\d{3}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(Date.parse(text)) &&
    new Date(text).toISOString().startsWith(text)
  );
}

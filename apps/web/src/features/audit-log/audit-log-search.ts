import { type AuditAction, actionTitles } from "../../server/action-titles.ts";

/** The search part of the URL of the audit log. */
export interface AuditLogSearch {
  readonly action?: AuditAction;
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

export function isAction(text: unknown): text is AuditAction {
  return typeof text === "string" && Object.hasOwn(actionTitles, text);
}

/** Whether a text is the ID of something that an event can be about. */
export function isTarget(text: unknown): text is string {
  return isIdOf(text, "(?:usr|key|inv|whk|ws)");
}

function isIdOf(text: unknown, prefix: string): text is string {
  return typeof text === "string" && new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`).test(text);
}

/** Whether a text is a day that exists. */
export function isDay(text: unknown): text is string {
  return typeof text === "string" && /^\d{4}-\d{2}-\d{2}$/.test(text) && startOfDay(text) !== undefined;
}

/** The filter in a call of the API. The last day is included. */
export function toFilter({ action, actor, target, from, to }: AuditLogSearch) {
  const start = from === undefined ? undefined : startOfDay(from);
  const end = to === undefined ? undefined : startOfDay(to, 1);
  return {
    ...(action && { action }),
    ...(actor && { actorId: actor }),
    ...(target && { targetId: target }),
    ...(start && { from: start.toISOString() }),
    ...(end && { to: end.toISOString() }),
  };
}

/** The beginning of a day in the reader's time zone, or of a later one; undefined for a day that doesn't exist. */
function startOfDay(day: string, laterDays = 0): Date | undefined {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  // Days before the year 1000 are the beginning of one that is being typed.
  if (year < 1000) return undefined;
  const start = new Date(year, month - 1, date);
  if (start.getMonth() !== month - 1 || start.getDate() !== date) return undefined;
  return new Date(year, month - 1, date + laterDays);
}

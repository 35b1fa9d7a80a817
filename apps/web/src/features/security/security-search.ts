import { type EventFilter, parseEventFilter } from "../../ui/log-filter.ts";
import {
  type LogTableSearch,
  parseLogTableSearch,
  parseTableSearch,
  type TableSearch,
} from "../../ui/table-search.ts";

/** The search part of the URL of the security page, which has two tables: the log and the sessions. */
export interface SecuritySearch extends LogTableSearch, EventFilter {
  /** A part of the device or the IP address of a session. */
  readonly sessionSearch?: string;
  readonly sessionColumns?: string;
  readonly sessionSort?: string;
  /** The IDs of the selected sessions, separated by commas. */
  readonly selectedSessions?: string;
}

/** The order of the sessions that is absent from the URL. */
export const defaultSessionSort = "-lastUsedAt";

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseSecuritySearch(search: Record<string, unknown>): SecuritySearch {
  const { sessionSearch: q, sessionColumns: columns, sessionSort: sort, selectedSessions: selected } = search;
  const options = { orders: ["device", "lastUsedAt", "createdAt"], defaultSort: defaultSessionSort };
  return withSessionsSearch(
    { ...parseLogTableSearch(search), ...parseEventFilter(search) },
    parseTableSearch({ q, columns, sort, selected }, options),
  );
}

/** The state of the table of sessions, with the names that tables use. */
export function readSessionsSearch(search: SecuritySearch): TableSearch {
  const { sessionSearch: q, sessionColumns: columns, sessionSort: sort, selectedSessions: selected } = search;
  return {
    ...(q !== undefined && { q }),
    ...(columns !== undefined && { columns }),
    ...(sort !== undefined && { sort }),
    ...(selected !== undefined && { selected }),
  };
}

/** Replaces the state of the table of sessions, and keeps that of the log. */
export function withSessionsSearch(
  {
    sessionSearch: _q,
    sessionColumns: _columns,
    sessionSort: _sort,
    selectedSessions: _selected,
    ...log
  }: SecuritySearch,
  sessions: TableSearch,
): SecuritySearch {
  return {
    ...log,
    ...(sessions.q !== undefined && { sessionSearch: sessions.q }),
    ...(sessions.columns !== undefined && { sessionColumns: sessions.columns }),
    ...(sessions.sort !== undefined && { sessionSort: sessions.sort }),
    ...(sessions.selected !== undefined && { selectedSessions: sessions.selected }),
  };
}

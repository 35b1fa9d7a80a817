import { type EventFilter, parseEventFilter } from "../../ui/log-filter.ts";
import {
  type LogTableSearch,
  parseLogTableSearch,
  parseTableSearch,
  type TableSearch,
} from "../../ui/table-search.ts";

/** The search part of the URL of the security page, which has two tables: the log and the sessions. */
export interface SecuritySearch extends LogTableSearch, EventFilter {
  readonly sessionColumns?: string;
  readonly sessionSort?: string;
  /** The IDs of the selected sessions, separated by commas. */
  readonly selectedSessions?: string;
}

/** The order of the sessions that is absent from the URL. */
export const defaultSessionSort = "-lastUsedAt";

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseSecuritySearch(search: Record<string, unknown>): SecuritySearch {
  const { sessionColumns: columns, sessionSort: sort, selectedSessions: selected } = search;
  const options = { orders: ["device", "lastUsedAt", "createdAt"], defaultSort: defaultSessionSort };
  return withSessionsSearch(
    { ...parseLogTableSearch(search), ...parseEventFilter(search) },
    parseTableSearch({ columns, sort, selected }, options),
  );
}

/** The state of the table of sessions, with the names that tables use. */
export function readSessionsSearch(search: SecuritySearch): TableSearch {
  const { sessionColumns: columns, sessionSort: sort, selectedSessions: selected } = search;
  return {
    ...(columns !== undefined && { columns }),
    ...(sort !== undefined && { sort }),
    ...(selected !== undefined && { selected }),
  };
}

/** Replaces the state of the table of sessions, and keeps that of the log. */
export function withSessionsSearch(
  { sessionColumns: _columns, sessionSort: _sort, selectedSessions: _selected, ...log }: SecuritySearch,
  sessions: TableSearch,
): SecuritySearch {
  return {
    ...log,
    ...(sessions.columns !== undefined && { sessionColumns: sessions.columns }),
    ...(sessions.sort !== undefined && { sessionSort: sessions.sort }),
    ...(sessions.selected !== undefined && { selectedSessions: sessions.selected }),
  };
}

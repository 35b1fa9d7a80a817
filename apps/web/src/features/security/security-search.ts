import {
  type LogTableSearch,
  parseLogTableSearch,
  parseTableSearch,
  type TableSearch,
} from "../../ui/table-search.ts";

/** The search part of the URL of the security page, which has two tables: the log and the sessions. */
export interface SecuritySearch extends LogTableSearch {
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
    parseLogTableSearch(search),
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
  { columns, size, sort }: SecuritySearch,
  sessions: TableSearch,
): SecuritySearch {
  return {
    ...(columns !== undefined && { columns }),
    ...(size !== undefined && { size }),
    ...(sort !== undefined && { sort }),
    ...(sessions.columns !== undefined && { sessionColumns: sessions.columns }),
    ...(sessions.sort !== undefined && { sessionSort: sessions.sort }),
    ...(sessions.selected !== undefined && { selectedSessions: sessions.selected }),
  };
}

import { expect, test } from "vitest";
import { parseSecuritySearch, readSessionsSearch, withSessionsSearch } from "./security-search.ts";

test("parses the state of both tables", () => {
  const search = {
    columns: "time",
    size: 25,
    sort: "occurredAt",
    action: "sign-in.failed",
    from: "2026-03-01",
    to: "2026-03-31",
    sessionSearch: "Linux",
    sessionColumns: "address",
    sessionSort: "createdAt",
    selectedSessions: "ses_1,ses_2",
  };
  expect(parseSecuritySearch(search)).toEqual(search);
  expect(readSessionsSearch(parseSecuritySearch(search))).toEqual({
    q: "Linux",
    columns: "address",
    sort: "createdAt",
    selected: "ses_1,ses_2",
  });
});

test("drops defaults and what isn't valid", () => {
  const search = {
    sort: "-occurredAt",
    sessionSort: "-lastUsedAt",
    sessionColumns: "<",
    selectedSessions: 3,
    action: "sign-in",
    from: "2026-02-30",
    to: 3,
  };
  expect(parseSecuritySearch(search)).toEqual({});
});

test("a change of the sessions' table keeps the state of the log's", () => {
  const log = { columns: "time", action: "sign-in.failed", from: "2026-03-01" };
  const before = { ...log, sessionSearch: "Linux", sessionSort: "createdAt", sessionColumns: "address" };
  expect(withSessionsSearch(before, { sort: "device" })).toEqual({ ...log, sessionSort: "device" });
});

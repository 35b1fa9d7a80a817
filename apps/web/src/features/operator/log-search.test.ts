import { expect, test } from "vitest";
import { isLogFiltered } from "../../ui/log-filter.ts";
import { toLogFilter } from "./log-filter.ts";
import { parseLogSearch } from "./log-search.ts";

const user = "usr_01h455vb4pex5vsknk084sn02q";
const workspace = "ws_01h455vb4pex5vsknk084sn02q";

test("parses the filter, the order, the page size and the columns", () => {
  const search = {
    action: "operator.granted",
    actor: user,
    target: workspace,
    from: "2026-03-01",
    to: "2026-03-31",
    columns: "actor,time",
    sort: "occurredAt",
    size: 25,
  };
  expect(parseLogSearch(search)).toEqual(search);
});

test.each([
  { action: "operator" },
  { actor: workspace },
  { actor: "me" },
  { target: "key_01h455vb4pex5vsknk084sn02q" },
  { target: 3 },
  { from: "2026-02-30" },
  { to: "tomorrow" },
])("drops the invalid filter %j", (search) => {
  expect(parseLogSearch(search)).toEqual({});
});

test("filters by the user or the workspace that an event is about", () => {
  expect(toLogFilter({ target: user })).toEqual({ targetUserId: user });
  expect(toLogFilter({ target: workspace })).toEqual({ targetWorkspaceId: workspace });
});

test("filters by an action of the log, and by no text that only looks like one", () => {
  expect(toLogFilter({ action: "key.deleted", actor: user })).toEqual({
    action: "key.deleted",
    actorId: user,
  });
  expect(toLogFilter({ action: "operator.cheered" })).toEqual({});
  expect(isLogFiltered({ action: "operator.cheered" })).toBe(true);
  expect(isLogFiltered(parseLogSearch({ columns: "time" }))).toBe(false);
});

test("filters from the beginning of the first day to the end of the last one, in the reader's time zone", () => {
  expect(toLogFilter({ from: "2026-03-01", to: "2026-03-31" })).toEqual({
    from: new Date(2026, 2, 1).toISOString(),
    to: new Date(2026, 3, 1).toISOString(),
  });
});

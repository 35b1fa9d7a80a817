import { expect, test } from "vitest";
import { isLogFiltered } from "../../ui/log-filter.ts";
import { toFilter } from "./audit-log-filter.ts";
import { parseAuditLogSearch } from "./audit-log-search.ts";

test("parses an action", () => {
  expect(parseAuditLogSearch({ action: "member.role-changed" })).toEqual({ action: "member.role-changed" });
});

test("parses columns, order and page size", () => {
  expect(parseAuditLogSearch({ columns: "what,time", size: "25", sort: "occurredAt", q: "x" })).toEqual({
    columns: "what,time",
    size: 25,
    sort: "occurredAt",
  });
});

test.each(["what", "-occurredAt", 3])("drops the order %j, which is unknown or the default", (sort) => {
  expect(parseAuditLogSearch({ sort })).toEqual({});
});

test.each(["", "member", "toString", 3, undefined])("drops the invalid action %j", (action) => {
  expect(parseAuditLogSearch({ action })).toEqual({});
});

const actor = "usr_01h455vb4pex5vsknk084sn02q";
const target = "key_01h455vb4pex5vsknk084sn02q";

test("parses the actor, the target and the days", () => {
  const search = { actor, target, from: "2026-03-01", to: "2026-03-31" };
  expect(parseAuditLogSearch(search)).toEqual(search);
});

test.each([
  { actor: target },
  { actor: "me" },
  { target: "evt_01h455vb4pex5vsknk084sn02q" },
  { from: "yesterday" },
  { from: "2026-02-30" },
  { from: "2026-13-01" },
  { to: "0002-03-01" },
  { to: 3 },
])("drops the invalid filter %j", (search) => {
  expect(parseAuditLogSearch(search)).toEqual({});
});

test("filters from the beginning of the first day to the end of the last one, in the reader's time zone", () => {
  expect(toFilter({ actor, target, from: "2026-03-01", to: "2026-03-31" })).toEqual({
    actorId: actor,
    targetId: target,
    from: new Date(2026, 2, 1).toISOString(),
    to: new Date(2026, 3, 1).toISOString(),
  });
  expect(toFilter({})).toEqual({});
});

test("the last day that can be entered sets no end", () => {
  expect(toFilter({ from: "9999-12-31", to: "9999-12-31" })).toEqual({
    from: new Date(9999, 11, 31).toISOString(),
  });
  expect(toFilter({ to: "9999-12-30" })).toEqual({ to: new Date(9999, 11, 31).toISOString() });
});

test("filters by an action, and by no text that only looks like one", () => {
  expect(toFilter({ action: "member.removed" })).toEqual({ action: "member.removed" });
  expect(toFilter({ action: "member.cheered" })).toEqual({});
});

test("counts columns and page size as no filter", () => {
  expect(isLogFiltered(parseAuditLogSearch({ columns: "what,time", size: 25 }))).toBe(false);
  expect(isLogFiltered(parseAuditLogSearch({ columns: "what,time", target }))).toBe(true);
});

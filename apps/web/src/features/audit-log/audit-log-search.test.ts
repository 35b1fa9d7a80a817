import { expect, test } from "vitest";
import { parseAuditLogSearch } from "./audit-log-search.ts";

test("parses an action", () => {
  expect(parseAuditLogSearch({ action: "member.role-changed" })).toEqual({ action: "member.role-changed" });
});

test.each(["", "member", "toString", 3, undefined])("drops the invalid action %j", (action) => {
  expect(parseAuditLogSearch({ action })).toEqual({});
});

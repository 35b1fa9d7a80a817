import { expect, test } from "vitest";
import { parseNoticesSearch } from "./notices-search.ts";

test("keeps a known filter and drops another one", () => {
  expect(parseNoticesSearch({ show: "unread" })).toEqual({ show: "unread" });
  expect(parseNoticesSearch({ show: "read", page: 2 })).toEqual({});
});

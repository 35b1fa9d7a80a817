import { expect, test } from "vitest";
import { parseLogSearch } from "./log-search.ts";

test("parses a user", () => {
  const user = "usr_01h455vb4pex5vsknk084sn02q";
  expect(parseLogSearch({ user })).toEqual({ user });
});

test.each(["me", "ws_01h455vb4pex5vsknk084sn02q", 3, undefined])("drops the invalid user %j", (user) => {
  expect(parseLogSearch({ user })).toEqual({});
});

import pg from "pg";
import { expect, test } from "vitest";
import { kindOfError } from "./error-kind.ts";

test("the kind of an error consists of its class, its code, and the file that threw it", () => {
  expect(kindOfError(new TypeError("a bug"))).toEqual({
    error: "TypeError",
    code: undefined,
    at: expect.stringMatching(/^apps\/api\/src\/event-log\/error-kind\.test\.ts:\d+$/),
  });
  const failure = Object.assign(new pg.DatabaseError("a message", 0, "error"), { code: "57014" });
  expect(kindOfError(failure)).toMatchObject({ error: "DatabaseError", code: "57014" });
  expect(kindOfError("thrown text")).toEqual({ error: "string", code: undefined, at: undefined });
});

test("the kind of an error contains no text that a caller can vary", () => {
  const { at } = kindOfError(new Error("a bug"));
  const forged = new Error("no\n    at go (apps/api/src/forged.ts:1:1)");
  expect(kindOfError(forged).at).toMatch(/error-kind\.test\.ts/);
  expect(kindOfError(forged).at).not.toBe(at);
  const named = Object.assign(new Error("a bug"), { name: "a caller's text", code: "a caller's text" });
  expect(kindOfError(named)).toMatchObject({ error: "Error", code: undefined });
});

test("an error with getters that throw has a kind", () => {
  const error = Object.defineProperty(new Error("a bug"), "stack", {
    get() {
      throw new Error("a bug in the getter");
    },
  });
  expect(kindOfError(error)).toEqual({ error: "Error", code: undefined, at: undefined });
});

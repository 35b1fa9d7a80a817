// Bodies made to confuse whoever reads them: each is refused with a clear answer, and none is a fault of ours.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
let key: string;
let cookie: string;

beforeAll(async () => {
  app = await startTestApp();
  const { userId } = await app.addUser();
  key = (await app.addKey(userId)).secret;
  const { cookies } = await app.instance.sessions.open(userId, new Headers());
  cookie = cookies[0]?.split(";")[0] ?? "";
});
afterAll(() => app.close());

async function post(path: string, body: string | Uint8Array<ArrayBuffer>, authorization = `Bearer ${key}`) {
  const response = await fetch(app.baseUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: authorization, Cookie: cookie },
    body,
  });
  return { status: response.status, text: await response.text() };
}

const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const named = (value: string): string => `{"name":${value}}`;

/** A body, what it is answered on `/open/workspaces`, and the member that the answer names. */
const rows: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, number, string?])[] = [
  ["arrays 100,000 deep", deep(100_000, "[", "]"), 413],
  ["arrays 50,000 deep", deep(50_000, "[", "]"), 400],
  ["arrays 50,000 deep in a member", named(deep(50_000, "[", "]")), 400],
  ["objects 10,000 deep", deep(10_000, '{"a":', "}").replace(":}", ":0}"), 400],
  ["arrays 50,000 deep that never close", "[".repeat(50_000), 400],
  ["33 arrays in each other", deep(33, "[", "]"), 400],
  ["a member __proto__", '{"name":"x","__proto__":{"role":"owner"}}', 400],
  ["a member __proto__ in escapes", '{"name":"x","\\u005f_proto__":{"role":"owner"}}', 400],
  ["a member constructor.prototype", '{"name":"x","constructor":{"prototype":{"a":1}}}', 400],
  ["a member twice", '{"name":"x","name":"y"}', 400, "name"],
  ["a member twice, once in escapes", '{"name":"x","n\\u0061me":"y"}', 400, "name"],
  ["a member twice with one value", '{"name":"x","name":"x"}', 400, "name"],
  ["a member twice, further in", '{"name":{"a":[1,{"b":0,"b":1}]}}', 400, "name.a.1.b"],
  ["an unknown member twice", '{"name":"x","role":"viewer","role":"owner"}', 400, "role"],
  ["U+0000 in a string", named('"a\\u0000b"'), 400, "name"],
  ["a bare NUL in a string", named('"a\0b"'), 400],
  ["a lone high surrogate", named('"a\\ud800b"'), 400, "name"],
  ["a lone low surrogate", named('"\\udc00"'), 400, "name"],
  ["surrogates the wrong way round", named('"\\udc00\\ud800"'), 400, "name"],
  ["a string that turns the writing around", named('"a\\u202eb"'), 400, "name"],
  ["U+0000 in a member's name", '{"name":"x","\\u0000":1}', 400, "\u0000"],
  ["a comment", '{"name":"x"/* y */}', 400],
  ["a comma at the end", '{"name":"x",}', 400],
  ["single quotes", "{'name':'x'}", 400],
  ["NaN", named("NaN"), 400],
  ["a number out of range", named("1e999"), 400, "name"],
  ["a number of 90,000 digits", named("9".repeat(90_000)), 400, "name"],
  ["a string of 90,000 letters", named(`"${"a".repeat(90_000)}"`), 400, "name"],
  ["two bodies", '{"name":"x"}{"name":"y"}', 400],
  ["90,000 bytes of blanks", " ".repeat(90_000), 400],
  ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 0x7b, 0x00]), 400],
  ["9,000 members", `{${Array.from({ length: 9_000 }, (_, index) => `"${index}":0`).join()}}`, 400],
];

const bodies = rows.map(([what, body, status, path]) => ({ what, body, status, path }));

describe("the open API", () => {
  test.each(bodies)("refuses $what", async ({ body, status, path }) => {
    const answer = await post("/open/workspaces", body);
    expect(answer.status).toBe(status);
    const { error } = JSON.parse(answer.text);
    expect(error.message).toEqual(expect.any(String));
    if (path !== undefined)
      expect(error.issues).toContainEqual({ path, code: expect.any(String), message: expect.any(String) });
  });

  test.each(bodies)("without a key says nothing of $what but that a key is missing", async ({ body }) => {
    expect((await post("/open/workspaces", body, "")).status).toBe(401);
  });

  test.each([
    ["32 arrays in each other, and says which member it does not know", named(deep(31, "[", "]"))],
    ["a name twice in different objects", '{"name":[{"a":1},{"a":1},{"b":{"a":2}}]}'],
  ])("reads %s", async (_what, body) => {
    const { error } = JSON.parse((await post("/open/workspaces", body)).text);
    expect(error.issues).toEqual([
      { path: "name", code: "invalid_type", message: expect.stringContaining("expected string") },
    ]);
  });

  test("takes what only looks dangerous", async () => {
    const name = "__proto__ “name” \\ 👩‍👩‍👧 {[/* */]}";
    const answer = await post("/open/workspaces", JSON.stringify({ name }));
    expect([answer.status, JSON.parse(answer.text).name]).toEqual([201, name]);
  });
});

describe("the web app's calls", () => {
  test.each(bodies)("$what is refused, or is no fault of ours", async ({ body }) => {
    const answer = await post("/trpc/workspaces.create", body);
    expect(answer.status === 200 || (answer.status >= 400 && answer.status < 500)).toBe(true);
    expect(JSON.parse(answer.text)).not.toHaveProperty("error.data.stack");
  });

  test("nothing that was sent has reached the prototype of all objects", () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).role).toBeUndefined();
  });
});

test("none of it was a fault of ours", () => {
  expect(app.logged()).not.toContain('"level":50');
});

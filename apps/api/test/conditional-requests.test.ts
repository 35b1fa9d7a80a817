import { encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { endpoints } from "../src/open/endpoints.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** A user with a key, and the path of one resource per kind. */
interface Fixture {
  readonly userId: UserId;
  readonly id: KeyId;
  readonly secret: string;
  readonly paths: Readonly<Record<"an API key" | "a workspace" | "a member", string>>;
}
let fixture: Fixture;
beforeEach(async () => {
  const caller = await app.addKey();
  const other = await app.addKey(caller.userId);
  const { userId } = await app.addUser();
  const { workspaceId } = await app.owner
    .selectFrom("members")
    .select("workspace_id as workspaceId")
    .where("user_id", "=", caller.userId)
    .executeTakeFirstOrThrow();
  await app.owner
    .insertInto("members")
    .values({ workspace_id: workspaceId, user_id: userId, role: "viewer" })
    .execute();
  const workspace = `/open/workspaces/${encodeId("workspace", workspaceId)}`;
  fixture = {
    ...caller,
    paths: {
      "an API key": `/open/api-keys/${encodeId("key", other.id)}`,
      "a workspace": workspace,
      "a member": `${workspace}/members/${encodeId("user", userId)}`,
    },
  };
});

async function send(method: string, path: string, headers: Record<string, string> = {}, body?: object) {
  const response = await fetch(app.baseUrl + path, {
    method,
    // Without this, fetch adds `Cache-Control: no-cache` to conditional requests.
    cache: "no-store",
    headers: { Authorization: `Bearer ${fixture.secret}`, "Content-Type": "application/json", ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === "" ? {} : JSON.parse(text),
  };
}

async function tagOf(path: string): Promise<string> {
  return (await send("GET", path)).headers.get("etag") ?? "";
}

const resources = ["an API key", "a workspace", "a member"] as const;
const edits = {
  "an API key": { description: "Another one." },
  "a workspace": { name: "Another name" },
  "a member": { role: "member" },
} as const;

describe.each(resources)("%s", (kind) => {
  test("gets 304 for a client with the current version, and the request counts as a use", async () => {
    const path = fixture.paths[kind];
    const first = await send("GET", path);
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"1\.[\w-]{11}"$/);
    for (const known of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
      const { status, headers, text } = await send("GET", path, {
        "If-None-Match": known,
        "X-Request-Id": "again",
      });
      expect([status, text]).toEqual([304, ""]);
      expect(headers.get("etag")).toBe(tag);
      expect(headers.get("cache-control")).toBe(first.headers.get("cache-control"));
      expect(headers.get("x-request-id")).toBe("again");
      expect(headers.get("date")).not.toBeNull();
      expect(headers.get("content-type")).toBeNull();
    }
    expect((await send("HEAD", path, { "If-None-Match": tag })).status).toBe(304);
    const { useCount } = await app.owner
      .selectFrom("key_counters")
      .select("use_count as useCount")
      .where("key_id", "=", fixture.id)
      .executeTakeFirstOrThrow();
    expect(useCount).toBe(6);
  });

  test("is sent to a client that has another version", async () => {
    const path = fixture.paths[kind];
    const tag = await tagOf(path);
    for (const other of ['"1"', '"2"', tag.replace('"1', '"2'), `"${tag}`, 'W/"x"', '""']) {
      const { status, body } = await send("GET", path, { "If-None-Match": other });
      expect([other, status]).toEqual([other, other.startsWith('""1') ? 400 : 200]);
      if (status === 400)
        expect(body.error.issues).toMatchObject([{ path: "If-None-Match", code: "invalid_format" }]);
    }
    expect((await send("PATCH", path, {}, edits[kind])).status).toBe(200);
    const changed = await send("GET", path, { "If-None-Match": tag });
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, expect.stringMatching(/^"2\./)]);
  });

  test.each(["nonsense", "1", '"1', "'1'", '"1" "2"'])("is not read with the invalid tag %s", async (tag) => {
    for (const name of ["If-Match", "If-None-Match"]) {
      const { status, body } = await send("GET", fixture.paths[kind], { [name]: tag });
      expect([status, body.error.issues]).toMatchObject([400, [{ path: name, code: "invalid_format" }]]);
    }
  });

  test("has the same tag in the response to an edit as in a read", async () => {
    const path = fixture.paths[kind];
    const edited = await send("PATCH", path, {}, edits[kind]);
    expect(edited.headers.get("etag")).toBe(await tagOf(path));
  });

  test("keeps its tag if an edit changes nothing", async () => {
    const path = fixture.paths[kind];
    const edited = await send("PATCH", path, {}, edits[kind]);
    const tag = edited.headers.get("etag");
    expect(tag).toMatch(/^"2\./);
    const repeated = await send("PATCH", path, {}, edits[kind]);
    expect([repeated.status, repeated.headers.get("etag"), repeated.text]).toEqual([200, tag, edited.text]);
    expect(await tagOf(path)).toBe(tag);
  });

  test.each(["GET", "HEAD", "PATCH", "DELETE"])(
    "responds with 412 to %s with the tag of another version, and is not changed",
    async (method) => {
      const path = fixture.paths[kind];
      const old = await tagOf(path);
      await send("PATCH", path, {}, edits[kind]);
      const before = await send("GET", path);
      const body =
        method === "PATCH"
          ? { ...edits[kind], ...(kind === "a member" ? { role: "admin" } : {}) }
          : undefined;
      for (const tag of [old, '"1"', '"7", "8"', `W/${await tagOf(path)}`, '"x"']) {
        const rejected = await send(method, path, { "If-Match": tag }, body);
        expect(rejected.status).toBe(412);
        if (method !== "HEAD") expect(rejected.body.error.code).toBe("PRECONDITION_FAILED");
      }
      expect((await send("GET", path)).headers.get("etag")).toBe(before.headers.get("etag"));
      const current = [await tagOf(path), '"2"', '"1", "2"', "*"];
      const tag = method === "DELETE" ? current.slice(0, 1) : current.slice(0, method === "PATCH" ? 1 : 4);
      for (const one of tag)
        expect((await send(method, path, { "If-Match": one }, body)).status).toBe(
          method === "DELETE" ? 204 : 200,
        );
    },
  );

  test("is either edited or deleted by two concurrent requests with the same tag", async () => {
    const path = fixture.paths[kind];
    const tag = await tagOf(path);
    const answers = await Promise.all([
      send("PATCH", path, { "If-Match": tag }, edits[kind]),
      send("DELETE", path, { "If-Match": tag }),
    ]);
    const [edit, deletion] = answers.map(({ status }) => status);
    expect([
      [200, 412],
      [404, 204],
      [403, 204],
      [412, 204],
    ]).toContainEqual([edit, deletion]);
  });
});

test("every PATCH and DELETE of a resource with an ETag supports If-Match", () => {
  const tagged = endpoints.filter(({ method, response }) => method === "GET" && "hasEtag" in response);
  expect(tagged).toHaveLength(10);
  const unsupported = endpoints.filter(
    ({ method, path, request }) =>
      method !== "GET" &&
      tagged.some((resource) => path === resource.path) &&
      !request.ifMatch &&
      method !== "POST",
  );
  expect(unsupported.map(({ operationId }) => operationId)).toEqual([]);
});

test("every response with a resource that has a version has an ETag", () => {
  const versioned = endpoints.filter(
    ({ operationId, response: { schema } }) =>
      schema && "version" in schema.shape && operationId !== "getConfiguration", // The version of Latchkey.
  );
  const untagged = versioned.filter(({ response }) => !("hasEtag" in response && response.hasEtag));
  expect(untagged.map(({ operationId }) => operationId)).toEqual([]);
  const uncovered = versioned.flatMap(
    ({ response }) => ("notInEtag" in response && response.notInEtag) || [],
  );
  expect([...new Set(uncovered)].toSorted()).toEqual(["lastUsedAt", "usageCount"]);
});

test("the tag of a key changes with a rotation, but not with a use", async () => {
  const own = `/open/api-keys/${encodeId("key", fixture.id)}`;
  const tag = await tagOf(own);
  expect((await send("GET", own, { "If-None-Match": tag })).status).toBe(304);
  const rotate = (headers: Record<string, string>) =>
    send("POST", `${fixture.paths["an API key"]}/rotate`, headers, { overlapSeconds: 0 });
  const before = await tagOf(fixture.paths["an API key"]);
  expect((await rotate({ "If-Match": '"7"' })).status).toBe(412);
  expect((await rotate({ "If-Match": before })).status).toBe(200);
  expect((await rotate({ "If-Match": before })).status).toBe(412);
});

test("a key can't revoke itself with the tag of another version", async () => {
  const revoke = (tag: string) => send("POST", "/open/api-keys/current/revoke", { "If-Match": tag });
  expect((await revoke('"2"')).status).toBe(412);
  expect((await revoke('"1"')).status).toBe(204);
  expect((await revoke('"1"')).status).toBe(403);
});

test("a changed role changes the tag of the workspace, but not its version", async () => {
  const path = fixture.paths["a workspace"];
  const { headers } = await send("GET", path);
  const tag = headers.get("etag") ?? "";
  await app.owner
    .updateTable("members")
    .set({ role: "admin" })
    .where("user_id", "=", fixture.userId)
    .execute();
  await app.owner
    .updateTable("key_counters")
    .set((eb) => ({ version: eb("version", "+", 1) }))
    .where("key_id", "=", fixture.id)
    .execute();
  const again = await send("GET", path, { "If-None-Match": tag });
  expect([again.status, again.body.role, again.body.version]).toEqual([200, "admin", 1]);
});

test("a changed user name changes the tag of the member, but not its version", async () => {
  const path = fixture.paths["a member"];
  const { headers, body } = await send("GET", path);
  await app.owner.updateTable("users").set({ name: "Grace" }).where("email", "=", body.email).execute();
  const again = await send("GET", path, { "If-None-Match": headers.get("etag") ?? "" });
  expect([again.status, again.body.name, again.body.version]).toEqual([200, "Grace", 1]);
});

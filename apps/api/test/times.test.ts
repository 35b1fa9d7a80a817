import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
let secret: string;
let keyId: string;
let workspaceId: string;
beforeAll(async () => {
  app = await startTestApp();
  const key = await app.addKey();
  secret = key.secret;
  keyId = encodeId("key", key.id);
  const { body } = await call("GET", "/open/workspaces");
  workspaceId = body.data[0].id;
});
afterAll(() => app.close());

async function call(method: string, path: string, body?: object) {
  const response = await fetch(app.baseUrl + path, {
    method,
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const invalidTimes = [
  "",
  "yesterday",
  "2026-11-22",
  "2026-11-22T10:00",
  "2026-11-22T10:00Z",
  "2026-11-22 10:00:00Z",
  "2026-11-22T10:00:00",
  "2026-11-22T10:00:00+01:00",
  "2026-11-22T10:00:00+00:00",
  "2026-11-22t10:00:00z",
  "2026-11-22T24:00:00Z",
  "2026-11-22T10:60:00Z",
  "2026-06-30T23:59:60Z",
  "2026-02-29T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-00-00T00:00:00Z",
  "0000-01-01T00:00:00Z",
  "-0001-01-01T00:00:00Z",
  "+012026-01-01T00:00:00Z",
  "10000-01-01T00:00:00Z",
  "+275760-09-13T00:00:00.001Z",
  "2026-11-22T10:00:00.Z",
  `2026-11-22T10:00:00.${"0".repeat(500)}Z`,
  "2026-11-22T10:00:00Z\u0000",
  "２０２６-11-22T10:00:00Z",
  "1795341600",
  "infinity",
  "now",
  "P1D",
];

const fixedTime = "2026-11-22T12:00:00Z";
const inputs = {
  "the start of a key's usage": (time: string) =>
    call(
      "GET",
      `/open/api-keys/${keyId}/usage?${new URLSearchParams({ from: time, to: fixedTime, bucket: "hour" })}`,
    ),
  "the end of a key's usage": (time: string) =>
    call(
      "GET",
      `/open/api-keys/${keyId}/usage?${new URLSearchParams({ from: fixedTime, to: time, bucket: "day" })}`,
    ),
  "the start of an audit log": (time: string) =>
    call("GET", `/open/workspaces/${workspaceId}/audit-events?${new URLSearchParams({ from: time })}`),
  "the end of an audit log": (time: string) =>
    call("GET", `/open/workspaces/${workspaceId}/audit-events?${new URLSearchParams({ to: time })}`),
  "the expiry of a key": (time: string) => call("PATCH", `/open/api-keys/${keyId}`, { expiresAt: time }),
} as const;
const fields = ["from", "to", "from", "to", "expiresAt"];

describe.each(Object.entries(inputs).map(([what, send], index) => ({ what, send, field: fields[index] })))(
  "$what",
  ({ send, field }) => {
    test.each(invalidTimes)("%j is rejected with the name of the field", async (time) => {
      const { status, body } = await send(time);
      expect([status, body.error.issues]).toEqual([
        400,
        [
          expect.objectContaining({
            path: field,
            code: expect.stringMatching(/^(invalid_format|too_long)$/),
          }),
        ],
      ]);
    });
  },
);

test.each(["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z"])(
  "%s is accepted",
  async (time) => {
    for (const name of ["from", "to"]) {
      const path = `/open/workspaces/${workspaceId}/audit-events?${name}=${time}`;
      expect((await call("GET", path)).status).toBe(200);
    }
    const to = new Date(Date.parse(time) + 3_600_000).toISOString();
    const end = to.startsWith("+") ? time : to;
    const start = to.startsWith("+") ? "9999-12-31T00:00:00Z" : time;
    const usage = await call("GET", `/open/api-keys/${keyId}/usage?from=${start}&to=${end}&bucket=hour`);
    expect([usage.status, usage.body]).toEqual([200, { data: [] }]);
  },
);

test.each(["key", "externalId", "outcome", "tag"])(
  "the usage of a keyspace on the last day is read by %s",
  async (groupBy) => {
    const path = `/open/workspaces/${workspaceId}/keyspaces`;
    const keyspace = await call("POST", path, { name: "API", prefix: "acme" });
    const period = { from: "9999-12-31T00:00:00Z", to: "9999-12-31T12:00:00Z", bucket: "day" };
    const query = new URLSearchParams({ groupBy, ...period });
    const usage = await call("GET", `${path}/${keyspace.body.id}/usage?${query}`);
    expect([usage.status, usage.body]).toEqual([200, { data: [] }]);
  },
);

test("the procedures of the web app reject invalid times too", async () => {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const id = encodeId("key", (await app.addKey(userId)).id);
  for (const from of invalidTimes) {
    await expect(
      client.keyHistory.usage.query({ id, from, to: fixedTime, bucket: "hour" }),
    ).rejects.toMatchObject({ data: { code: "BAD_REQUEST", issues: [{ path: "from" }] } });
  }
});

test("no time has caused an error in the log", () => {
  expect(app.readLog()).not.toContain('"level":50');
});

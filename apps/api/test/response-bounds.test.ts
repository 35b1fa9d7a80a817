// Values of the maximum size. The test app compares each response with the OpenAPI document when it closes.
import { encodeId } from "@latchkey/db/ids";
import { maxPathLength } from "@latchkey/errors";
import { maxLength } from "@latchkey/limits";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { maxUsageCounts } from "../src/domain/key-usage.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
let key: Awaited<ReturnType<TestApp["addKey"]>>;
beforeAll(async () => {
  app = await startTestApp();
  key = await app.addKey();
});
afterAll(() => app.close());

// Not validated, because the tests check the members that they read.
interface Body {
  readonly id: string;
  readonly name: string;
  readonly data: readonly { readonly after: unknown }[];
  readonly error: { readonly issues: readonly { readonly path: string; readonly code: string }[] };
}

async function send(method: string, path: string, body?: object) {
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${key.secret}`,
      ...(body ? { "Content-Type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return {
    status: response.status,
    link: response.headers.get("link"),
    body: (await response.json()) as Body,
  };
}

test("the path of an issue is shortened if a member has a long name", async () => {
  const { status, body } = await send("POST", "/workspaces", { name: "Payments", ["x".repeat(50_000)]: 1 });
  expect(status).toBe(400);
  expect(body.error.issues).toEqual([
    { path: `${"x".repeat(maxPathLength - 1)}…`, code: "unknown_member", message: "Unknown field" },
  ]);
});

test("the longest name and description are in the responses and in the audit log", async () => {
  const name = "é🔑".repeat(100).slice(0, maxLength.workspaceName).trim();
  const description = "\\".repeat(maxLength.workspaceDescription);
  const { status, body } = await send("POST", "/workspaces", { name, description });
  expect([status, body.name]).toEqual([201, name]);
  await send("PATCH", `/workspaces/${body.id}`, { description: '"'.repeat(maxLength.workspaceDescription) });
  const events = await send("GET", `/workspaces/${body.id}/audit-events`);
  expect(events.body.data.map(({ after }) => after)).toContainEqual({
    description: '"'.repeat(maxLength.workspaceDescription),
  });
});

test("a changed value that is too long is shortened", async () => {
  const { body } = await send("POST", "/workspaces", { name: "Long" });
  await sql`update audit_events set after = jsonb_build_object('name', repeat('x', 10000)) where target_id =
    (select id from workspaces where name = 'Long')`.execute(app.owner);
  const events = await send("GET", `/workspaces/${body.id}/audit-events`);
  const name = `${"x".repeat(maxLength.auditValue - 1)}…`;
  expect(events.body.data.map(({ after }) => after)).toContainEqual({ name });
});

test("the link to the next page has no spaces around the search text", async () => {
  await send("POST", "/workspaces", { name: "Team one" });
  await send("POST", "/workspaces", { name: "Team two" });
  const { status, link } = await send("GET", `/workspaces?limit=1&search=${"%C2%A0".repeat(500)}Team`);
  expect(status).toBe(200);
  expect(link).toMatch(/\?limit=1&search=Team&cursor=[\w-]+>; rel="next"$/);
});

test("a period with more counts than a response may have is rejected", async () => {
  await sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    select ${key.id}, '2026-03-01T00:00:00Z', gen_random_uuid(), 'admitted', 1
    from generate_series(1, ${maxUsageCounts})`.execute(app.owner);
  await sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    values (${key.id}, '2026-03-01T01:00:00Z', null, 'admitted', 1)`.execute(app.owner);
  const path = `/api-keys/${encodeId("key", key.id)}/usage?bucket=hour&from=2026-03-01T00:00:00Z`;
  const longest = await send("GET", `${path}&to=2026-03-01T01:00:00Z`);
  expect([longest.status, longest.body.data.length]).toEqual([200, maxUsageCounts]);
  const tooLong = await send("GET", `${path}&to=2026-03-01T02:00:00Z`);
  expect([tooLong.status, tooLong.body.error.issues]).toEqual([
    400,
    [expect.objectContaining({ path: "to", code: "invalid_range" })],
  ]);
});

import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { WorkspaceId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readUsageExport } from "../src/domain/usage-export.ts";
import { createOpenClient } from "./open-client.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The verifications of keyspaces as CSV, which the web app downloads.

let app: TestApp;
let cookie: string;
let client: ReturnType<typeof openClient>["client"];
let workspaceId: string;
let production: string;
/** Two buckets: of the day before the test began, and of the hour in which it began and the next one. */
let buckets: { readonly starts: readonly number[]; readonly to: number };
let apiKey: string;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

beforeEach(async () => {
  const { userId, email } = await app.addUser();
  const opened = openClient(app.baseUrl);
  ({ client } = opened);
  await client.session.signIn.mutate({ email, password });
  cookie = opened.cookie();
  ({ id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" }));
  ({ secret: apiKey } = await app.addKey(userId));
  production = await createKeyspace("Production, EU");
  const hour = Math.floor(Date.now() / 1_000 / hourSeconds) * hourSeconds;
  buckets = { starts: [hour - 24 * hourSeconds, hour], to: hour + 2 * hourSeconds };
});

async function createKeyspace(name: string): Promise<string> {
  const { id } = await client.keyspaces.create.mutate({ workspaceId, fields: { name, prefix: "sk_live" } });
  return id;
}

const { send } = createOpenClient(() => app);

const hourSeconds = 3_600;

async function issueAndVerify(keyspaceId: string, fields: object, verifications: readonly object[]) {
  const created = await client.issuedKeys.create.mutate({ workspaceId, keyspaceId, fields });
  for (const verification of verifications)
    await send(apiKey, ["POST", "/keys/verify"], { key: created.key, ...verification });
  return created.id;
}

function exportUsage(input: object, headers: Record<string, string> = {}) {
  return fetch(`${app.baseUrl}/exports/verifications`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Cookie: cookie, ...headers },
    body: JSON.stringify({ workspaceId, keyspaceId: production, ...buckets, ...input }),
  });
}

/** The header and the sorted rows, without the time. */
async function readRows(input: object): Promise<readonly string[]> {
  const response = await exportUsage(input);
  expect(response.status).toBe(200);
  const lines = (await response.text()).split("\r\n");
  expect(lines.pop()).toBe("");
  const [head = "", ...rows] = lines;
  for (const row of rows) expect(Date.parse(row.split(",")[0] ?? "")).toBeGreaterThan(Date.now() - 7_200_000);
  return [head, ...rows.map((row) => row.slice(row.indexOf(",") + 1)).toSorted()];
}

test("contains the verifications by outcome, key, consumer and tag", async () => {
  const key = await issueAndVerify(production, { name: "Acme", externalId: "=acme" }, [
    { tags: ["eu"] },
    {},
    { cost: 0 },
    { permissions: "admin" },
  ]);
  const staging = await createKeyspace("Staging");
  const other = await issueAndVerify(staging, { name: "+Globex" }, [{}]);
  const space = `${production},"Production, EU"`;
  await expect
    .poll(() => readRows({ groupBy: "outcome" }))
    .toEqual([
      "startsAt,keyspaceId,keyspaceName,outcome,count",
      `${space},CHECKED,1`,
      `${space},INSUFFICIENT_PERMISSIONS,1`,
      `${space},VALID,2`,
    ]);
  expect(await readRows({ groupBy: "key" })).toEqual([
    "startsAt,keyspaceId,keyspaceName,keyId,name,count,useCount",
    `${space},${key},Acme,4,2`,
  ]);
  // No cell is a formula.
  expect(await readRows({ groupBy: "externalId" })).toEqual([
    "startsAt,keyspaceId,keyspaceName,externalId,count,useCount",
    `${space},"'=acme",4,2`,
  ]);
  expect(await readRows({ groupBy: "tag" })).toEqual([
    "startsAt,keyspaceId,keyspaceName,tag,count,useCount",
    `${space},eu,1,1`,
  ]);
  const ofAll = { keyspaceId: null };
  await expect.poll(() => readRows({ ...ofAll, groupBy: "key" })).toHaveLength(3);
  expect(await readRows({ ...ofAll, groupBy: "key" })).toContain(
    `${staging},Staging,${other},"'+Globex",1,1`,
  );
  expect(await readRows({ ...ofAll, groupBy: "outcome" })).toContain(`${staging},Staging,VALID,1`);
});

test("is named after the grouping, and has a header if there is nothing", async () => {
  const response = await exportUsage({ groupBy: "externalId" });
  expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="verifications-by-consumer-\d{4}-\d\d-\d\d\.csv"$/,
  );
  expect(await response.text()).toBe("startsAt,keyspaceId,keyspaceName,externalId,count,useCount\r\n");
  await client.keyspaces.delete.mutate({ workspaceId, keyspaceId: production });
  const head = "startsAt,keyspaceId,keyspaceName,keyId,name,count,useCount";
  for (const [groupBy, line] of [
    ["key", head],
    ["outcome", "startsAt,keyspaceId,keyspaceName,outcome,count"],
    ["tag", "startsAt,keyspaceId,keyspaceName,tag,count,useCount"],
  ])
    expect(await readRows({ keyspaceId: null, groupBy })).toEqual([line]);
  expect((await exportUsage({ groupBy: "key" })).status).toBe(404);
});

/** More keys and hours than one read adds up. */
test("contains the busiest 1,000 of many keys, in parts, busiest first", async () => {
  const { rows } = await sql<{ workspaceId: string; keyspaceId: string }>`
    select workspace_id as "workspaceId", id as "keyspaceId" from keyspaces order by created_at desc limit 1`.execute(
    app.owner,
  );
  const [ids] = rows;
  await sql`
    insert into keyspace_usage_days (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select ${ids?.workspaceId}, ${ids?.keyspaceId}, md5(n::text)::uuid, false, (now() at time zone 'UTC')::date - day,
      count, count, floor(log(2, count))
    from generate_series(1, 1200) n
    cross join lateral (select case when n > 200 then n else 1 end as count) used
    cross join generate_series(1, 2) day`.execute(app.owner);
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, subject_id, day::timestamp at time zone 'UTC' + interval '12 hours', 'VALID', count
    from keyspace_usage_days where keyspace_id = ${ids?.keyspaceId}`.execute(app.owner);
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400;
  const starts = Array.from({ length: 90 }, (_, place) => midnight - (89 - place) * 86_400);
  const response = await exportUsage({ groupBy: "key", starts, to: midnight + 86_400 });
  const lines = (await response.text()).trimEnd().split("\r\n").slice(1);
  expect(lines).toHaveLength(2_000);
  expect(lines.map((line) => Number(line.split(",").at(-1)))).toEqual(
    Array.from({ length: 1_000 }, (_, place) => [1_200 - place, 1_200 - place]).flat(),
  );
  expect(new Set(lines.map((line) => line.split(",")[0])).size).toBe(2);
  // The access is checked before each part.
  const scope = openAsOperator(ids?.workspaceId as WorkspaceId); // The keyspace exists.
  const dates = { starts: starts.map((start) => new Date(start * 1_000)), to: new Date() };
  let checks = 0;
  const parts = readUsageExport(
    (work) => app.services.readDb.connection().execute(work),
    { scope, keyspaceId: null, groupBy: "key", buckets: dates },
    async () => {
      checks += 1;
      if (checks > 4) throw new AppError("FORBIDDEN");
    },
  );
  // The keyspaces, the busiest keys, and two parts of rows.
  for (let part = 0; part < 2; part += 1) expect((await parts.next()).done).toBe(false);
  await expect(parts.next()).rejects.toMatchObject({ code: "FORBIDDEN" });
});

test.each([
  { groupBy: "name" },
  { groupBy: "key", keyspaceId: "me" },
  { groupBy: "key", starts: [] },
  { groupBy: "key", starts: [0] },
  { groupBy: "key", to: 0 },
  { groupBy: "key", starts: [0], to: 100 * 86_400 + 1 },
  { groupBy: "key", unknown: 1 },
])("rejects %j", async (input) => {
  const response = await exportUsage(input);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: "BAD_REQUEST", issues: expect.arrayContaining([expect.anything()]) },
  });
});

test("takes a session, from the web app's own origin, with a JSON body", async () => {
  const status = async (headers: Record<string, string>) =>
    (await exportUsage({ groupBy: "key" }, headers)).status;
  expect(await status({})).toBe(200);
  expect(await status({ Cookie: "" })).toBe(401);
  expect(await status({ Cookie: "", Authorization: `Bearer ${apiKey}` })).toBe(401);
  expect(await status({ "Sec-Fetch-Site": "cross-site" })).toBe(403);
  expect(await status({ "Content-Type": "text/plain" })).toBe(415);
});

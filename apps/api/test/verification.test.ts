// Verification of issued keys through the open API.
import { randomBytes } from "node:crypto";
import { createApiKey, digestKey } from "@latchkey/auth/key-format";
import { verificationPaths } from "@latchkey/db/idempotency-records";
import { createId, decodeId, encodeId } from "@latchkey/db/ids";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { addMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { createOpenClient } from "./open-client.ts";
import { addTeam, join, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);

interface IssuedKey {
  readonly id: string;
  readonly keyspaceId: string;
  readonly secret: string;
}

/** Inserts a key directly, so that the tests of verification don't depend on the endpoints that issue keys. */
async function issueKey(
  { id }: Team,
  {
    limits = [],
    credits = null,
    permissions = [],
    externalId,
    secret = `acme_${randomBytes(24).toString("hex")}`,
  }: {
    readonly secret?: string;
    readonly limits?: readonly object[];
    readonly credits?: number | null;
    readonly permissions?: readonly string[];
    readonly externalId?: string;
  } = {},
): Promise<IssuedKey> {
  const workspaceId = decodeId("workspace", id);
  const keyspaceId = createId("keyspace");
  const keyId = createId("issuedKey");
  const consumerId = externalId === undefined ? null : createId("consumer");
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    values (${workspaceId}, ${keyspaceId}, 'API', 'acme')`.execute(app.owner);
  if (consumerId) {
    await sql`
      insert into consumers (workspace_id, keyspace_id, id, external_id)
      values (${workspaceId}, ${keyspaceId}, ${consumerId}, ${externalId})`.execute(app.owner);
  }
  await sql`
    insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start, name, meta, permissions, limits)
    values (${workspaceId}, ${keyspaceId}, ${keyId}, ${consumerId}, ${Buffer.from(digestKey(secret), "base64")},
      'acme_', 'Production', '{"plan":"pro"}', ${permissions}, ${JSON.stringify(limits)})`.execute(app.owner);
  await sql`insert into key_counters (key_id, credits) values (${keyId}, ${credits})`.execute(app.owner);
  return { id: encodeId("issuedKey", keyId), keyspaceId: encodeId("keyspace", keyspaceId), secret };
}

const verify = (caller: string, body: object, headers?: Readonly<Record<string, string>>) =>
  send(caller, ["POST", "/keys/verify"], body, headers);

/** The whole response, without the headers that every response has of its own. */
async function verifyRaw(caller: string, body: object) {
  const response = await fetch(`${app.baseUrl}/open/keys/verify`, {
    method: "POST",
    headers: { Authorization: `Bearer ${caller}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const headers = Object.fromEntries(response.headers);
  for (const name of ["date", "x-request-id"]) delete headers[name];
  return { status: response.status, headers, body: await response.json() };
}

const notFound = {
  valid: false,
  code: "NOT_FOUND",
  keyId: null,
  keyspaceId: null,
  workspaceId: null,
  externalId: null,
  name: null,
  meta: null,
  permissions: [],
  expiresAt: null,
  credits: null,
  limits: [],
};

test("describes a valid key, its credits and its limits", async () => {
  const team = await addTeam(app);
  const { id, keyspaceId, secret } = await issueKey(team, {
    credits: 10,
    permissions: ["documents.*"],
    externalId: "customer-42",
    limits: [
      { name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true },
      { name: "exports", quota: 5, windowSeconds: 60, appliesAlways: false },
    ],
  });
  const reply = await verify(team.owner.secret, {
    key: secret,
    permissions: "documents.read AND (documents.write OR admin)",
    cost: 2,
    limits: [{ name: "exports", cost: 1 }],
    clientIp: "2001:db8::7",
  });
  expect(reply).toMatchObject({ status: 200 });
  expect(reply.body).toEqual({
    valid: true,
    code: "VALID",
    keyId: id,
    keyspaceId,
    workspaceId: team.id,
    externalId: "customer-42",
    name: "Production",
    meta: { plan: "pro" },
    permissions: ["documents.*"],
    expiresAt: null,
    credits: { remaining: 8 },
    limits: [
      { name: "requests", quota: 100, remaining: 98, resetsInSeconds: 60, isExceeded: false },
      { name: "exports", quota: 5, remaining: 4, resetsInSeconds: 60, isExceeded: false },
    ],
  });
});

test("a batch verifies each key by itself, in order", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team, { credits: 3, permissions: ["read"] });
  const { status, body } = await send(team.owner.secret, ["POST", "/keys/verify-batch"], {
    verifications: [
      { key: secret, cost: 2 },
      { key: "acme_unknown" },
      { key: secret, cost: 2 },
      { key: secret, permissions: "write" },
      { key: secret },
    ],
  });
  expect(status).toBe(200);
  expect(body.data?.map(({ code, credits }) => [code, credits])).toEqual([
    ["VALID", { remaining: 1 }],
    ["NOT_FOUND", null],
    ["USAGE_EXCEEDED", { remaining: 1 }],
    ["INSUFFICIENT_PERMISSIONS", { remaining: 1 }],
    ["VALID", { remaining: 0 }],
  ]);
});

test("needs keys:verify in the key's workspace, and reveals nothing without it", async () => {
  const [team, other] = [await addTeam(app), await addTeam(app)];
  const { secret, keyspaceId } = await issueKey(team);
  for (const caller of [(await join(app, team, "viewer")).secret, other.owner.secret]) {
    expect((await verify(caller, { key: secret })).body).toEqual(notFound);
    expect((await verify(caller, { key: secret, keyspaceId, workspaceId: team.id })).body).toEqual(notFound);
    // An unknown limit of a key that the caller may verify gets 400.
    const limits = [{ name: "unknown" }];
    const foreign = await verifyRaw(caller, { key: secret, limits });
    expect(foreign).toMatchObject({ status: 200, body: notFound });
    expect(foreign).toEqual(await verifyRaw(caller, { key: "no such key", limits }));
  }
  expect((await verify(team.owner.secret, { key: secret, limits: [{ name: "unknown" }] })).status).toBe(400);
  expect((await verify(team.owner.secret, { key: "no such key" })).body).toEqual(notFound);
  for (const caller of [team.owner, await join(app, team, "admin"), await join(app, team, "member")]) {
    expect((await verify(caller.secret, { key: secret })).body).toMatchObject({ valid: true });
  }
});

test("a key that may verify in one workspace can do nothing else", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team);
  const { key: caller } = await team.owner.client.apiKeys.create.mutate({
    name: "Gateway",
    settings: { permissions: ["keys:verify"], workspaceIds: [team.id] },
  });
  expect((await verify(caller, { key: secret })).body).toMatchObject({ code: "VALID" });
  for (const path of [team.path, `${team.path}/members`])
    expect((await send(caller, ["GET", path])).status).toBe(403);
});

test.each([
  [{}, "key"],
  [{ key: "a", unknown: 1 }, "unknown"],
  [{ key: 1 }, "key"],
  [{ key: "a", cost: -1 }, "cost"],
  [{ key: "a", cost: 1.5 }, "cost"],
  [{ key: "a", clientIp: "localhost" }, "clientIp"],
  [{ key: "a", keyspaceId: "ks_1" }, "keyspaceId"],
  [{ key: "a", limits: [{ name: "a" }, { name: "a" }] }, "limits"],
  [{ key: "a", permissions: "a AND" }, "permissions"],
])("rejects %j", async (body, path) => {
  const { secret } = await app.addKey();
  const { status, body: answer } = await verify(secret, body);
  expect(status).toBe(400);
  expect(answer.error).toMatchObject({ code: "BAD_REQUEST", issues: [{ path }] });
});

test("names the position of an error in a permission query, and of an unknown limit", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team, { credits: 5 });
  const { body } = await verify(team.owner.secret, { key: secret, permissions: "a AND (b OR )" });
  expect(body.error).toMatchObject({
    issues: [{ path: "permissions", message: "Character 13: Expected a permission." }],
  });
  const verifyBoth = (fields: object) =>
    send(team.owner.secret, ["POST", "/keys/verify-batch"], {
      verifications: [{ key: secret }, { key: secret, ...fields }],
    });
  const { body: batchWithQuery } = await verifyBoth({ permissions: "a AND (b OR )" });
  expect(batchWithQuery.error).toMatchObject({
    code: "BAD_REQUEST",
    issues: [{ path: "verifications.1.permissions", message: "Character 13: Expected a permission." }],
  });
  const { body: batch } = await verifyBoth({ limits: [{ name: "unknown" }] });
  expect(batch.error).toMatchObject({
    code: "BAD_REQUEST",
    issues: [{ path: "verifications.1.limits.0.name", code: "not_found" }],
  });
  expect((await verify(team.owner.secret, { key: secret })).body).toMatchObject({
    credits: { remaining: 4 },
  });
});

test("authentication comes first, whatever the body is", async () => {
  const url = `${app.baseUrl}/open/keys/verify`;
  const post = (headers: Readonly<Record<string, string>>, body: string) =>
    fetch(url, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body });
  const { secret } = await app.addKey();
  const Authorization = `Bearer ${secret}`;
  for (const body of ["{}", "not JSON", "x".repeat(200_000)]) {
    expect((await post({}, body)).status).toBe(401);
    expect((await post({ Authorization: "Bearer lk_unknown" }, body)).status).toBe(403);
  }
  expect((await post({ Authorization }, "not JSON")).status).toBe(400);
  expect((await post({ Authorization }, "x".repeat(200_000))).status).toBe(413);
  expect((await post({ Authorization, "Content-Type": "text/plain" }, "{}")).status).toBe(415);
});

test("a caller over its rate limit gets 429, and spends nothing", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team, { credits: 5 });
  const { key: caller } = await team.owner.client.apiKeys.create.mutate({
    name: "Gateway",
    settings: { limit: { quota: 1, windowSeconds: 3_600 } },
  });
  expect((await verify(caller, { key: secret })).status).toBe(200);
  expect((await verify(caller, { key: secret })).status).toBe(429);
  expect((await verify(team.owner.secret, { key: secret })).body).toMatchObject({
    credits: { remaining: 3 },
  });
});

test("a retry with the same Idempotency-Key spends nothing more", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team, { credits: 5 });
  const headers = { "Idempotency-Key": "retry-1" };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { body } = await verify(team.owner.secret, { key: secret, cost: 2 }, headers);
    expect(body).toMatchObject({ code: "VALID", credits: { remaining: 3 } });
  }
  expect((await verify(team.owner.secret, { key: secret, cost: 1 }, headers)).status).toBe(422);
  expect((await verify(team.owner.secret, { key: secret }, { "Idempotency-Key": "a b" })).status).toBe(400);
});

test("verifications with more than a million new names per hour get 429, but others are possible", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team, { credits: 5 });
  await sql`
    update key_counters
    set windows = jsonb_build_object('idempotency-keys', jsonb_build_array(4102444800000, 1000000))
    where key_id in (select id from api_keys where user_id = ${team.owner.userId})`.execute(app.owner);
  const response = await fetch(`${app.baseUrl}/open/keys/verify`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${team.owner.secret}`,
      "Content-Type": "application/json",
      "Idempotency-Key": "one-more",
    },
    body: JSON.stringify({ key: secret }),
  });
  expect(response.status).toBe(429);
  // The window ends too late, as if the clock had been set back, so it is shortened with a tolerance of two seconds.
  expect(Number(response.headers.get("Retry-After"))).toBe(3_602);
  const body = (await response.json()) as { readonly error: object }; // The shape of every error.
  expect(body.error).toMatchObject({
    code: "TOO_MANY_REQUESTS",
    message: expect.stringMatching(
      /^This API key has reached the limit of 1,000,000 verifications with an Idempotency-Key per hour\./,
    ),
  });
  expect((await verify(team.owner.secret, { key: secret })).body).toMatchObject({
    code: "VALID",
    credits: { remaining: 4 },
  });
});

test("the paths under which records of verifications are kept are those of the endpoints that verify keys", () => {
  const paths = endpoints.filter(({ verifies }) => verifies).map(({ path }) => `/open${path}`);
  expect(new Set<string>(verificationPaths)).toEqual(new Set(paths));
});

test("the verified key is in no log and in no record, even if it is used as the Idempotency-Key", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team);
  expect((await verify(team.owner.secret, { key: secret }, { "Idempotency-Key": secret })).status).toBe(200);
  await verify(team.owner.secret, { key: secret, unknown: secret });
  expect(app.readLog()).not.toContain(secret);
  const { rows } = await sql`
    select key, answer::text from idempotency_records where user_id = ${team.owner.userId}`.execute(
    app.owner,
  );
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(secret);
});

test("an API key is verified with its workspace, and has there the permissions of its owner", async () => {
  const [team, other] = [await addTeam(app), await addTeam(app)];
  const viewer = await join(app, team, "viewer");
  const permissions = "members:read";
  const { body } = await verify(team.owner.secret, {
    key: viewer.secret,
    workspaceId: team.id,
    permissions,
  });
  expect(body).toMatchObject({
    valid: true,
    keyId: expect.stringMatching(/^key_/),
    keyspaceId: null,
    workspaceId: team.id,
    permissions: expect.arrayContaining(["workspace:read", "members:read"]),
  });
  const { key } = await viewer.client.apiKeys.create.mutate({
    name: "Limited",
    settings: { limit: { quota: 10, windowSeconds: 60 } },
  });
  const named = { key, workspaceId: team.id, limits: [{ name: "key", cost: 4 }] };
  expect((await verify(team.owner.secret, named)).body).toMatchObject({
    valid: true,
    limits: [{ name: "key", quota: 10, remaining: 6 }],
  });
  expect((await verify(team.owner.secret, { key: viewer.secret })).body).toEqual(notFound);
  expect((await verify(other.owner.secret, { key: viewer.secret, workspaceId: team.id })).body).toEqual(
    notFound,
  );
  expect((await verify(other.owner.secret, { key: viewer.secret, workspaceId: other.id })).body).toEqual(
    notFound,
  );
});

test("a key that the API issued is verified, and every change to it applies to the next verification", async () => {
  const team = await addTeam(app);
  const call = (request: readonly [method: string, path: string], body?: object) =>
    send(team.owner.secret, [request[0], `${team.path}/keyspaces${request[1]}`], body);
  const { body: keyspace } = await call(["POST", ""], { name: "Production", prefix: "sk_live" });
  const path = `/${keyspace.id}/keys`;
  const { body: key } = await call(["POST", path], {
    name: "Acme",
    externalId: "customer-42",
    credits: { remaining: 10 },
    permissions: ["documents.read"],
  });
  const verifyIssued = async (secret = key.key) =>
    (await verify(team.owner.secret, { key: secret, permissions: "documents.read" })).body;
  expect(await verifyIssued()).toMatchObject({
    code: "VALID",
    keyId: key.id,
    keyspaceId: keyspace.id,
    externalId: "customer-42",
    name: "Acme",
    credits: { remaining: 9 },
  });
  expect((await call(["GET", `${path}/${key.id}`])).body).toMatchObject({
    usageCount: 1,
    credits: { remaining: 9 },
  });
  await call(["PATCH", `${path}/${key.id}`], { isDisabled: true });
  expect(await verifyIssued()).toMatchObject({ code: "DISABLED" });
  await call(["PATCH", `${path}/${key.id}`], { isDisabled: false, permissions: ["documents.write"] });
  expect(await verifyIssued()).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
  await call(["PATCH", `${path}/${key.id}`], { permissions: ["*"] });
  const { body: rotated } = await call(["POST", `${path}/${key.id}/rotate`], { overlapSeconds: 0 });
  expect(await verifyIssued()).toMatchObject({ code: "NOT_FOUND" });
  expect(await verifyIssued(rotated.key)).toMatchObject({ code: "VALID" });
  await call(["PATCH", `/${keyspace.id}`], { isDisabled: true });
  expect(await verifyIssued(rotated.key)).toMatchObject({ code: "DISABLED" });
  await call(["PATCH", `/${keyspace.id}`], { isDisabled: false });
  expect(await verifyIssued(rotated.key)).toMatchObject({ code: "VALID" });
  expect((await call(["DELETE", `${path}/${key.id}`])).status).toBe(204);
  expect(await verifyIssued(rotated.key)).toMatchObject({ code: "NOT_FOUND" });
});

test("a request with a forged key takes one lookup, whatever its body is", async () => {
  const sent: string[] = [];
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...parameters
  ) {
    const [config] = parameters as unknown as [string | { readonly name?: string }]; // One of the driver's overloads.
    if (typeof config === "object" && /^(admit|verify)-/.test(config.name ?? ""))
      sent.push(config.name ?? "");
    return Reflect.apply(query, this, parameters);
  });
  onTestFinished(() => spy.mockRestore());
  for (const body of [{ key: "acme_unknown" }, { key: 1 }]) {
    expect((await verify(createApiKey().secret, body)).status).toBe(403);
    expect(sent.splice(0)).toEqual(["verify-find-api-keys"]);
  }
});

test("a key that only verifies is used in the workspace of the verified keys", async () => {
  const team = await addTeam(app);
  const { secret } = await issueKey(team);
  const { id, key: caller } = await team.owner.client.apiKeys.create.mutate({
    name: "Gateway",
    settings: { permissions: ["keys:verify"] },
  });
  await verify(caller, { key: secret });
  const readUses = async () => {
    const { rows } = await sql<{ count: number }>`
      select count::integer from key_usage_hours
      where key_id = ${decodeId("key", id)} and workspace_id = ${decodeId("workspace", team.id)} and outcome = 'admitted'`.execute(
      app.owner,
    );
    return rows.map(({ count }) => count);
  };
  await expect.poll(readUses).toEqual([1]);
});

test("a verified API key is used in the workspace and from the IP address of its owner, like a key that sends a request", async () => {
  const team = await addTeam(app);
  const viewer = await join(app, team, "viewer");
  const { id, key } = await viewer.client.apiKeys.create.mutate({ name: "Script" });
  const verifications = [
    { key, workspaceId: team.id, clientIp: "192.0.2.7" },
    // None of these is a use: a check without a cost, a rejected key, and a retry.
    { key, workspaceId: team.id, cost: 0 },
    { key, workspaceId: team.id, permissions: "workspace:delete" },
  ];
  const headers = { "Idempotency-Key": "retry" };
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect(
      (await send(team.owner.secret, ["POST", "/keys/verify-batch"], { verifications }, headers)).status,
    ).toBe(200);
  const read = async () => {
    const { rows } = await sql<{ uses: number | null; address: string | null; count: number }>`
      select count::integer as uses, workspace_id as "workspaceId",
        (select address from key_addresses where key_id = hour.key_id) as address,
        (select use_count::integer from key_counters where key_id = hour.key_id) as count
      from key_usage_hours hour where key_id = ${decodeId("key", id)} and outcome = 'admitted'`.execute(
      app.owner,
    );
    return rows;
  };
  await expect
    .poll(read)
    .toEqual([{ uses: 1, workspaceId: decodeId("workspace", team.id), address: "192.0.2.7", count: 1 }]);
  const { data: listed } = (await send(team.owner.secret, ["GET", `${team.path}/api-keys`])).body;
  expect(listed?.find((one) => one.id === id)).toMatchObject({ lastUsedAt: expect.any(String) });
});

test("an IPv4-mapped IP address of a consumer is in the ranges of its IPv4 address", async () => {
  const team = await addTeam(app);
  const { secret, id } = await issueKey(team);
  await sql`
    update issued_keys set ip_ranges = '{192.0.2.0/24}' where id = ${decodeId("issuedKey", id)}`.execute(
    app.owner,
  );
  expect((await verify(team.owner.secret, { key: secret, clientIp: "::ffff:192.0.2.7" })).body.code).toBe(
    "VALID",
  );
  expect((await verify(team.owner.secret, { key: secret, clientIp: "::ffff:198.51.100.7" })).body.code).toBe(
    "FORBIDDEN",
  );
});

test("a caller who joins a workspace reaches its older key with the same secret from the next request", async () => {
  const [joined, own] = [await addTeam(app), await addTeam(app)];
  const older = await issueKey(joined);
  const { secret, keyspaceId } = await issueKey(own, { secret: older.secret });
  const verifySecret = async () => (await verify(own.owner.secret, { key: secret })).body;
  expect(await verifySecret()).toMatchObject({ code: "VALID", keyspaceId });
  const edit = { scope: joined.scope, origin: commandOrigin };
  const { userId } = own.owner;
  await app.services.db
    .transaction()
    .execute((trx) => addMember(trx, edit, { userId, role: "member" }, defaultQuotas));
  expect(await verifySecret()).toMatchObject({ code: "VALID", keyspaceId: older.keyspaceId });
});

test("a batch with keys of two workspaces is one use of the caller's key, and is counted in the history of each workspace", async () => {
  const [team, other] = [await addTeam(app), await addTeam(app)];
  const keys = [await issueKey(team), await issueKey(other)];
  const { userId, secret } = team.owner;
  await sql`
    insert into members (workspace_id, user_id, role)
    values (${decodeId("workspace", other.id)}, ${userId}, 'member')`.execute(app.owner);
  const body = { verifications: keys.map(({ secret: key }) => ({ key })) };
  expect(await send(secret, ["POST", "/keys/verify-batch"], body)).toMatchObject({ status: 200 });
  const read = async (what: "uses" | "history") => {
    const { rows } = await sql<{ count: number }>`
      select sum(${sql.ref(what === "uses" ? "use_count" : "count")})::integer as count
      from ${sql.table(what === "uses" ? "key_counters" : "key_usage_hours")}
      where key_id in (select id from api_keys where user_id = ${userId})`.execute(app.owner);
    return rows[0]?.count;
  };
  await expect.poll(() => read("history")).toBe(2);
  expect(await read("uses")).toBe(1);
});

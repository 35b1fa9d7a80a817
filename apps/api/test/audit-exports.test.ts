import { once } from "node:events";
import { request } from "node:http";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { endSessions } from "@latchkey/db/sessions";
import { sql } from "kysely";
import { TOTP } from "otpauth";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { addMember, changeMemberRole } from "../src/domain/members.ts";
import { createServiceAccount } from "../src/domain/service-accounts.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// Streaming an audit log, to the web app and to the open API.

let app: TestApp;
/** An admin who is not the owner, so that the role can be changed. */
let admin: {
  readonly userId: UserId;
  readonly id: string;
  readonly client: ReturnType<typeof openClient>["client"];
  readonly cookie: string;
  readonly secret: string;
};
let adminKey: KeyId;
let workspaceId: WorkspaceId;
let workspace: string;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

beforeEach(async () => {
  const owner = await app.addUser();
  const person = await app.addUser();
  const { client, cookie } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email: owner.email, password });
  const session = await client.session.current.query();
  workspace = session?.workspaces[0]?.id ?? "";
  const row = await app.owner
    .selectFrom("members")
    .select("workspace_id")
    .where("user_id", "=", owner.userId)
    .executeTakeFirstOrThrow();
  workspaceId = row.workspace_id;
  const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
  await app.services.db
    .transaction()
    .execute((trx) => addMember(trx, edit, { userId: person.userId, role: "admin" }, app.services.quotas));
  const key = await app.addKey(person.userId);
  adminKey = key.id;
  const visitor = openClient(app.baseUrl);
  await visitor.client.session.signIn.mutate({ email: person.email, password });
  admin = {
    userId: person.userId,
    id: encodeId("user", person.userId),
    client: visitor.client,
    cookie: visitor.cookie(),
    secret: key.secret,
  };
  expect(cookie()).not.toBe(admin.cookie);
});

/** Adds old events whose names begin like formulas. */
async function addEvents(count: number, name = "=1+2"): Promise<void> {
  // In parts, so that no statement takes long on a busy machine.
  for (let first = 1; first <= count; first += 5_000) {
    await sql`
      insert into audit_events (workspace_id, id, occurred_at, action, actor_kind, actor_user_id, target_kind, target_id, after, request_id)
      select ${workspaceId}, gen_random_uuid(), timestamptz '2026-01-01' + n * interval '1 second', 'workspace.renamed',
        'session', ${admin.userId}, 'workspace', ${workspaceId}, jsonb_build_object('name', ${name} || n), '=cmd'
      from generate_series(${first}::int, ${Math.min(count, first + 4_999)}::int) n`.execute(app.owner);
  }
}

function exportInApp(input: object, headers: Record<string, string> = {}, signal?: AbortSignal) {
  return fetch(`${app.baseUrl}/exports/audit-events`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Cookie: admin.cookie, ...headers },
    body: JSON.stringify(input),
    ...(signal && { signal }),
  });
}

function exportInApi(query: string, secret = admin.secret, signal?: AbortSignal) {
  return fetch(`${app.baseUrl}/open/workspaces/${workspace}/audit-events/export?${query}`, {
    headers: { Authorization: `Bearer ${secret}` },
    ...(signal && { signal }),
  });
}

/** Both ways to export, with the same filters. */
const ways = [
  ["the web app", (filter: Record<string, string>) => exportInApp({ workspaceId: workspace, ...filter })],
  ["the open API", (filter: Record<string, string>) => exportInApi(String(new URLSearchParams(filter)))],
] as const;

describe.each(ways)("through %s", (_name, send) => {
  test("streams every event once, newest first, as NDJSON", async () => {
    await addEvents(1_234);
    const response = await send({ format: "ndjson", action: "workspace.renamed" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const events = (await response.text())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ after }) => after.name)).toEqual(
      Array.from({ length: 1_234 }, (_event, index) => `=1+2${1_234 - index}`),
    );
    expect(events[0]).toMatchObject({ actor: { userId: admin.id, name: "Ada" }, target: { id: workspace } });
  });

  test("streams CSV in which no cell is a formula", async () => {
    await addEvents(2);
    const response = await send({ format: "csv", action: "workspace.renamed" });
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="audit-log-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const [head, first, second, ...rest] = (await response.text()).split("\r\n");
    expect(head).toBe(
      "id,occurredAt,action,actor.kind,actor.userId,actor.name,actor.keyId,target.kind,target.id,target.name,before,after,address,requestId,actor.userKind,target.userKind,target.owner.id,target.owner.name,target.owner.kind",
    );
    expect(first).toMatch(
      new RegExp(
        `^evt_\\w{26},2026-01-01T\\d\\d:00:02\\.000Z,workspace\\.renamed,session,${admin.id},Ada,,workspace,${workspace},,,"{""name"":""=1\\+22""}",,"'=cmd",person,,,,$`,
      ),
    );
    expect(second).toContain(":00:01.000Z");
    expect(rest).toEqual([""]);
  });

  test("omits the email address of a former member, which events of earlier versions have", async () => {
    await sql`
      insert into audit_events (workspace_id, id, occurred_at, action, actor_kind, target_kind, target_id, before)
      values (${workspaceId}, gen_random_uuid(), clock_timestamp(), 'member.removed', 'command', 'member',
        ${admin.userId}, '{"role": "member", "email": "grace@example.com"}')`.execute(app.owner);
    for (const format of ["csv", "ndjson"]) {
      const text = await (await send({ format, action: "member.removed" })).text();
      expect(text).toContain("member.removed");
      expect(text).not.toContain("grace@example.com");
    }
  });

  test("CSV states which users are service accounts, like JSON", async () => {
    const { quotas } = app.services;
    const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
    await app.services.db
      .transaction()
      .execute((trx) => createServiceAccount(trx, edit, { name: "Deploys", role: "viewer" }, quotas));
    const read = async (action: string) => {
      const [head = "", row = ""] = (await (await send({ format: "csv", action })).text()).split("\r\n");
      const cells = row.split(",");
      const columns = head.split(",");
      // Both are after the cells that can contain commas.
      expect(columns.slice(-5, -3)).toEqual(["actor.userKind", "target.userKind"]);
      return cells.slice(-5, -3);
    };
    expect(await read("service-account.created")).toEqual(["", "service_account"]);
    expect(await read("member.added")).toEqual(["", "person"]);
  });

  test("filters by actor, action, target and time", async () => {
    await addEvents(5);
    const read = async (filter: Record<string, string>) => {
      const text = await (await send({ format: "ndjson", ...filter })).text();
      return text === ""
        ? []
        : text
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line).action);
    };
    const own = { actorId: admin.id };
    expect(await read(own)).toEqual(Array(5).fill("workspace.renamed"));
    expect(await read({ targetId: admin.id })).toEqual(["member.added"]);
    expect(await read({ targetId: encodeId("key", adminKey) })).toEqual(["key.created"]);
    const { rows } = await sql<{ at: Date }>`
      select timestamptz '2026-01-01' + interval '4 seconds' as at`.execute(app.owner);
    const from = rows[0]?.at.toISOString() ?? "";
    expect(await read({ ...own, from })).toHaveLength(2);
    expect(await read({ ...own, to: from })).toHaveLength(3);
    expect(await read({ action: "member.removed" })).toEqual([]);
  });

  test.each([
    { format: "xml" },
    { format: "csv", actorId: "me" },
    { format: "csv", targetId: "usr_1" },
    { format: "csv", from: "yesterday" },
    { format: "csv", unknown: "1" },
  ])("rejects %j", async (filter: Record<string, string>) => {
    const response = await send(filter);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "BAD_REQUEST", issues: [{}] } });
  });
});

test("a session is required, from the web app's own origin, with a JSON body", async () => {
  const input = { workspaceId: workspace, format: "csv" };
  const status = async (response: Promise<Response>) => (await response).status;
  expect(await status(exportInApp(input, { Cookie: "" }))).toBe(401);
  expect(await status(exportInApp(input, { "Sec-Fetch-Site": "cross-site" }))).toBe(403);
  expect(await status(exportInApp(input, { Origin: "https://example.com" }))).toBe(403);
  expect(await status(exportInApp(input, { "Content-Type": "text/plain" }))).toBe(415);
  expect(await status(exportInApp(input, { Cookie: "", Authorization: `Bearer ${admin.secret}` }))).toBe(401);
  const url = `${app.baseUrl}/exports/audit-events`;
  expect(await status(fetch(url, { headers: { Cookie: admin.cookie } }))).toBe(405);
});

test("another workspace can't be exported, whether it exists or not", async () => {
  const { secret } = await app.addKey();
  const other = encodeId("workspace", createId("workspace"));
  const removed = await exportInApp({ workspaceId: other, format: "csv" });
  expect(removed.status).toBe(403);
  expect((await exportInApi("format=csv", secret)).status).toBe(403);
});

/** Reads until the first chunk has arrived, then applies a change, and expects that the rest fails. */
async function readAround(response: Response, change: () => Promise<unknown>): Promise<number> {
  const reader = response.body?.getReader();
  if (!reader) throw new Error("There is no body.");
  let size = (await reader.read()).value?.length ?? 0;
  await change();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return size;
    size += value.length;
  }
}

/** More than the buffers of both ends of the connection hold. */
const manyEvents = 20_000;

const demote = () =>
  app.services.db
    .transaction()
    .execute((trx) =>
      changeMemberRole(
        trx,
        { scope: openAsOperator(workspaceId), origin: commandOrigin },
        { userId: admin.userId, role: "member", versions: undefined },
        app.services.quotas,
      ),
    );

test.each([
  ["a role is reduced", () => exportInApp({ workspaceId: workspace, format: "ndjson" }), demote],
  [
    "a session ends",
    () => exportInApp({ workspaceId: workspace, format: "ndjson" }),
    () => app.services.db.transaction().execute((trx) => endSessions(trx, admin.userId, "all")),
  ],
  [
    "the only second factor is removed",
    async () => {
      const { secret } = await admin.client.factors.createTotp.mutate();
      await admin.client.factors.enableTotp.mutate({ code: new TOTP({ secret }).generate() });
      await sql`update workspaces set requires_second_factor = true where id = ${workspaceId}`.execute(
        app.owner,
      );
      return await exportInApp({ workspaceId: workspace, format: "ndjson" });
    },
    () => admin.client.factors.disableTotp.mutate(),
  ],
  ["a role is reduced", () => exportInApi("format=ndjson"), demote],
  [
    "a key is deleted",
    () => exportInApi("format=ndjson"),
    () => app.deleteKey({ userId: admin.userId, id: adminKey }),
  ],
])("an export ends with an error when %s before it ends", async (_what, send, change) => {
  await addEvents(
    manyEvents,
    "a name that is long enough to fill the buffers of the connection sooner ".repeat(5),
  );
  await expect(readAround(await send(), change)).rejects.toThrow("terminated");
});

test("a user can have four exports in progress, in the web app and with API keys together", async () => {
  await addEvents(
    manyEvents,
    "a name that is long enough to fill the buffers of the connection sooner ".repeat(5),
  );
  const stopping = new AbortController();
  const inApp = () => exportInApp({ workspaceId: workspace, format: "ndjson" }, {}, stopping.signal);
  const inApi = () => exportInApi("format=ndjson", admin.secret, stopping.signal);
  const open = await Promise.all([inApp(), inApp(), inApi(), inApi()]);
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const rejected of [await inApp(), await inApi()]) {
    expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(await rejected.json()).toMatchObject({
      error: {
        code: "TOO_MANY_REQUESTS",
        message: "You have reached the limit of 4 concurrent exports. Try again when one has ended.",
      },
    });
  }
  const owner = await app.owner
    .selectFrom("members")
    .select("user_id")
    .where("workspace_id", "=", workspaceId)
    .where("role", "=", "owner")
    .executeTakeFirstOrThrow();
  const { secret } = await app.addKey(owner.user_id);
  expect((await exportInApi("format=ndjson&action=member.added", secret)).status).toBe(200);
  stopping.abort();
  await expect.poll(async () => (await exportInApi("format=ndjson&action=member.added")).status).toBe(200);
});

test("a filter above the size limit is rejected before it is read", async () => {
  const call = request(`${app.baseUrl}/exports/audit-events`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Content-Length": 200_000, Cookie: admin.cookie },
  });
  onTestFinished(() => void call.destroy());
  call.flushHeaders();
  const [response] = await once(call, "response");
  expect(response.statusCode).toBe(413);
});

test("an export that is canceled stops reading", async () => {
  await addEvents(
    manyEvents,
    "a name that is long enough to fill the buffers of the connection sooner ".repeat(5),
  );
  const stopping = new AbortController();
  const response = await exportInApp({ workspaceId: workspace, format: "ndjson" }, {}, stopping.signal);
  await expect(readAround(response, async () => stopping.abort())).rejects.toThrow("aborted");
  // Nothing is reported, because clients may disconnect at any time.
  await exportInApi("format=ndjson&action=member.added");
  expect(app.readLog()).not.toContain('"level":50');
});

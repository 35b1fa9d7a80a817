import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { insertMember } from "@latchkey/db/members";
import type { Role } from "@latchkey/db/role";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { holdLocks } from "./table-locks.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

/** The entity tag of a version. */
const tag = (version: number) => expect.stringMatching(new RegExp(`^"${version}\\.[\\w-]{11}"$`));

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Sent {
  readonly status: number;
  readonly etag: string | null;
  readonly link: string | null;
  readonly requestId: string | null;
  // Not validated, because the tests check the members.
  readonly body: Readonly<Record<string, unknown>> & { readonly data?: readonly Record<string, unknown>[] };
}

async function send(
  secret: string,
  [method, path]: readonly [string, string],
  options: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Sent> {
  const response = await fetch(path.startsWith("http") ? path : `${app.baseUrl}/open${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${secret}`,
      ...(options.body ? { "Content-Type": "application/json" } : {}),
      ...options.headers,
    },
    ...(options.body ? { body: JSON.stringify(options.body) } : {}),
  });
  const text = await response.text();
  return {
    status: response.status,
    etag: response.headers.get("etag"),
    link: response.headers.get("link"),
    requestId: response.headers.get("x-request-id"),
    body: text === "" ? {} : (JSON.parse(text) as Sent["body"]),
  };
}

test("the command creates no workspace for a user who is disabled, also at the same time", async () => {
  const { userId, email } = await app.addUser();
  const { db, quotas } = app.services;
  const create = () =>
    db
      .transaction()
      .execute((trx) =>
        createWorkspace(trx, { name: "Own", ownerId: userId, origin: commandOrigin }, quotas),
      );
  const rejection = { code: "CONFLICT", message: "This user is disabled. Enable the user first." };
  const disabling = "update users set disabled_at = now() where email = $1";
  const commit = await holdLocks(app.database, disabling, [email]);
  const rejected = expect(create()).rejects.toMatchObject(rejection);
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  await rejected;
  await expect(create()).rejects.toMatchObject(rejection);
});

interface Person {
  readonly userId: UserId;
  readonly name: string;
  readonly secret: string;
}

interface Team extends Readonly<Record<Role, Person>> {
  readonly id: string;
  readonly path: string;
  readonly scope: WorkspaceScope;
}

/** A workspace with one member of each role, each with a key. */
async function addTeam(): Promise<Team> {
  const addPerson = async (): Promise<Person> => {
    const { userId, secret } = await app.addKey();
    return { userId, name: encodeId("user", userId), secret };
  };
  const owner = await addPerson();
  const { body } = await send(owner.secret, ["POST", "/workspaces"], { body: { name: "Team" } });
  const id = String(body.id);
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
  const add = async (role: Role): Promise<Person> => {
    const person = await addPerson();
    await inWorkspace(app.services.db, scope, (trx) =>
      insertMember(trx, scope, { userId: person.userId, role }),
    );
    return person;
  };
  return {
    id,
    path: `/workspaces/${id}`,
    scope,
    owner,
    admin: await add("admin"),
    member: await add("member"),
    viewer: await add("viewer"),
  };
}

async function auditOf({ owner, path }: Team): Promise<readonly Record<string, unknown>[]> {
  const { body } = await send(owner.secret, ["GET", `${path}/audit-events?sort=occurredAt&limit=100`]);
  return body.data ?? [];
}

describe("a workspace", () => {
  test("can be created, read, renamed and deleted", async () => {
    const { secret } = await app.addKey();
    const made = await send(secret, ["POST", "/workspaces"], { body: { name: "  Payments " } });
    expect(made).toMatchObject({
      status: 201,
      etag: tag(1),
      body: { name: "Payments", slug: expect.stringMatching(/^payments/), role: "owner", version: 1 },
    });
    const path = `/workspaces/${made.body.id}`;
    expect(await send(secret, ["GET", path])).toMatchObject({ status: 200, etag: tag(1), body: made.body });
    const renamed = await send(secret, ["PATCH", path], { body: { name: "Billing" } });
    expect(renamed).toMatchObject({
      status: 200,
      etag: tag(2),
      body: { ...made.body, name: "Billing", version: 2 },
    });
    expect(await send(secret, ["DELETE", path])).toMatchObject({ status: 204, body: {} });
    expect(await send(secret, ["GET", path])).toMatchObject({ status: 403 });
    expect(await send(secret, ["DELETE", path])).toMatchObject({ status: 403 });
  });

  test("has a description, which is empty by default and can be edited separately", async () => {
    const { secret } = await app.addKey();
    const plain = await send(secret, ["POST", "/workspaces"], { body: { name: "Plain" } });
    expect(plain.body).toMatchObject({ description: "" });
    const made = await send(secret, ["POST", "/workspaces"], {
      body: { name: "Team", description: " Why " },
    });
    expect(made.body).toMatchObject({ description: "Why" });
    const path = `/workspaces/${made.body.id}`;
    const described = await send(secret, ["PATCH", path], { body: { description: "Line 1\nLine 2" } });
    expect(described).toMatchObject({
      status: 200,
      body: { name: "Team", description: "Line 1\nLine 2", version: 2 },
    });
    await send(secret, ["PATCH", path], { body: { name: "Crew", description: "" } });
    const { body } = await send(secret, ["GET", `${path}/audit-events?sort=occurredAt`]);
    const events = body.data as readonly Record<string, unknown>[]; // As in the schema of the response.
    expect(events.map(({ action, before, after }) => [action, before, after]).slice(1)).toEqual([
      ["workspace.description-changed", { description: "Why" }, { description: "Line 1\nLine 2" }],
      ["workspace.renamed", { name: "Team" }, { name: "Crew" }],
      ["workspace.description-changed", { description: "Line 1\nLine 2" }, { description: "" }],
    ]);
  });

  test("has one version and entity tag for its name and description", async () => {
    const team = await addTeam();
    const { etag } = await send(team.owner.secret, ["GET", team.path]);
    const describe = (description: string) =>
      send(team.admin.secret, ["PATCH", team.path], {
        body: { description },
        headers: { "If-Match": String(etag) },
      });
    const described = await describe("First");
    expect(described).toMatchObject({ status: 200, etag: tag(2) });
    expect(await describe("Second")).toMatchObject({ status: 412 });
    expect(await send(team.owner.secret, ["GET", team.path])).toMatchObject({
      body: { description: "First", version: 2 },
    });
    const headers = { "If-None-Match": String(etag) };
    expect(await send(team.owner.secret, ["GET", team.path], { headers })).toMatchObject({ status: 200 });
  });

  test.each([{}, { description: "a".repeat(501) }, { description: null }])(
    "can't be edited with %j",
    async (body) => {
      const { secret } = await app.addKey();
      const made = await send(secret, ["POST", "/workspaces"], { body: { name: "Team" } });
      expect(await send(secret, ["PATCH", `/workspaces/${made.body.id}`], { body })).toMatchObject({
        status: 400,
        body: { error: { code: "BAD_REQUEST", issues: [expect.anything()] } },
      });
    },
  );

  test.each([
    {},
    { name: "" },
    { name: "a".repeat(101) },
    { name: 1 },
    { name: "x", slug: "y" },
    { name: "x\u0000" },
    { name: "\u200B\u2060" },
    { name: "\u115F \u3164" },
    { name: "\u2800" },
  ])("can't be created with %j", async (body) => {
    const { secret } = await app.addKey();
    expect(await send(secret, ["POST", "/workspaces"], { body })).toMatchObject({
      status: 400,
      body: { error: { code: "BAD_REQUEST", issues: [expect.anything()] } },
    });
  });

  test("is edited only if If-Match names the current version, once per version", async () => {
    const team = await addTeam();
    const edit = (name: string, etag: string) =>
      send(team.admin.secret, ["PATCH", team.path], { body: { name }, headers: { "If-Match": etag } });
    const { etag } = await send(team.owner.secret, ["GET", team.path]);
    const responses = await Promise.all(["A", "B", "C", "D"].map((name) => edit(name, String(etag))));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    expect(await edit("Late", '"1"')).toMatchObject({
      status: 412,
      body: { error: { code: "PRECONDITION_FAILED" } },
    });
    expect(await edit("Weak", 'W/"2"')).toMatchObject({ status: 412 });
    expect(await edit("Elsewhere", '"abc"')).toMatchObject({ status: 412 });
    expect(await edit("Padded", '"02"')).toMatchObject({ status: 412 });
    expect(await edit("Bad", "2")).toMatchObject({ status: 400 });
    expect(await edit("Any", "*")).toMatchObject({ status: 200 });
    expect(await edit("Either", '"1", "3"')).toMatchObject({ status: 200, etag: tag(4) });
  });

  test("is deleted only if If-Match names the current version", async () => {
    const team = await addTeam();
    const remove = async (etag: string) =>
      (await send(team.owner.secret, ["DELETE", team.path], { headers: { "If-Match": etag } })).status;
    await send(team.admin.secret, ["PATCH", team.path], { body: { name: "Renamed" } });
    expect(await remove('"1"')).toBe(412);
    expect(await send(team.viewer.secret, ["GET", team.path])).toMatchObject({ status: 200 });
    expect(await remove('"2"')).toBe(204);
    expect(await send(team.owner.secret, ["GET", team.path])).toMatchObject({ status: 403 });
  });

  test("is listed once across pages, in every order and with every filter", async () => {
    const { secret } = await app.addKey();
    const names = ["delta", "Alpha", "charlie", "Bravo", "echo_x"];
    for (const name of names) await send(secret, ["POST", "/workspaces"], { body: { name } });
    const listNames = async (query: string): Promise<string[]> => {
      const seen: string[] = [];
      let next: string | undefined = `/workspaces?limit=2&${query}`;
      for (let page = 0; next && page < 10; page += 1) {
        const { body, link }: Sent = await send(secret, ["GET", next]);
        seen.push(...(body.data ?? []).map(({ name }) => String(name)));
        expect(body.hasMore).toBe(link !== null);
        next = /^<(.+)>; rel="next"$/.exec(link ?? "")?.[1];
      }
      return seen;
    };
    expect(await listNames("search=a")).toHaveLength(5); // Includes the user's first workspace.
    expect(await listNames("search=o_")).toEqual(["echo_x"]);
    expect(await listNames("role=viewer")).toEqual([]);
    expect((await listNames("sort=createdAt")).slice(1)).toEqual(names);
    expect((await listNames("sort=-createdAt")).slice(0, 5)).toEqual(names.toReversed());
    const byName = await listNames("sort=name");
    expect(byName).toHaveLength(6);
    expect(await listNames("sort=-name")).toEqual(byName.toReversed());
    const { body } = await send(secret, ["GET", "/workspaces?limit=1&sort=name"]);
    const wrongOrder = `/workspaces?sort=-name&cursor=${body.nextCursor}`;
    expect(await send(secret, ["GET", wrongOrder])).toMatchObject({ status: 400 });
  });
});

describe("a member", () => {
  test("can be listed, read, filtered and searched", async () => {
    const team = await addTeam();
    const list = await send(team.viewer.secret, ["GET", `${team.path}/members?sort=joinedAt`]);
    expect(list.body.data?.map(({ role }) => role)).toEqual(["owner", "admin", "member", "viewer"]);
    const one = await send(team.viewer.secret, ["GET", `${team.path}/members/${team.admin.name}`]);
    expect(one).toMatchObject({
      status: 200,
      etag: tag(1),
      body: { userId: team.admin.name, role: "admin", isDisabled: false },
    });
    const admins = await send(team.viewer.secret, ["GET", `${team.path}/members?role=admin`]);
    expect(admins.body.data).toEqual([one.body]);
    const found = await send(team.viewer.secret, ["GET", `${team.path}/members?search=${one.body.email}`]);
    expect(found.body.data).toEqual([one.body]);
    const stranger = await app.addKey();
    const foreign = encodeId("user", stranger.userId);
    expect(await send(team.owner.secret, ["GET", `${team.path}/members/${foreign}`])).toMatchObject({
      status: 404,
    });
    expect(await send(team.owner.secret, ["GET", `${team.path}/members/nobody`])).toMatchObject({
      status: 400,
    });
  });

  test("gets another role, which applies to the next request", async () => {
    const team = await addTeam();
    const path = `${team.path}/members/${team.viewer.name}`;
    expect(await send(team.viewer.secret, ["GET", `${team.path}/audit-events`])).toMatchObject({
      status: 403,
    });
    const changed = await send(team.admin.secret, ["PATCH", path], {
      body: { role: "admin" },
      headers: { "If-Match": '"1"' },
    });
    expect(changed).toMatchObject({ status: 200, etag: tag(2), body: { role: "admin", version: 2 } });
    expect(await send(team.viewer.secret, ["GET", `${team.path}/audit-events`])).toMatchObject({
      status: 200,
    });
    const late = { body: { role: "member" }, headers: { "If-Match": '"1"' } };
    expect(await send(team.admin.secret, ["PATCH", path], late)).toMatchObject({ status: 412 });
    expect(await send(team.admin.secret, ["PATCH", path], { body: { role: "king" } })).toMatchObject({
      status: 400,
    });
  });

  test("is removed only if If-Match names the current version", async () => {
    const team = await addTeam();
    const path = `${team.path}/members/${team.viewer.name}`;
    const remove = async (etag: string) =>
      (await send(team.admin.secret, ["DELETE", path], { headers: { "If-Match": etag } })).status;
    await send(team.admin.secret, ["PATCH", path], { body: { role: "member" } });
    expect(await remove('"1"')).toBe(412);
    expect(await send(team.viewer.secret, ["GET", team.path])).toMatchObject({ status: 200 });
    expect(await remove('"2"')).toBe(204);
    expect(await send(team.viewer.secret, ["GET", team.path])).toMatchObject({ status: 403 });
  });

  test("can be given its current role only if If-Match names the current version", async () => {
    const team = await addTeam();
    const assignSameRole = async (etag: string) => {
      const options = { body: { role: "owner" }, headers: { "If-Match": etag } };
      const path = `${team.path}/members/${team.owner.name}`;
      return await send(team.owner.secret, ["PATCH", path], options);
    };
    expect(await assignSameRole('"1"')).toMatchObject({ status: 200, etag: tag(1) });
    expect(await assignSameRole('"7"')).toMatchObject({ status: 412 });
  });

  test("can't grant a role above their own, or change or remove a member with a higher role", async () => {
    const team = await addTeam();
    const patch = (target: Person, role: Role) =>
      send(team.admin.secret, ["PATCH", `${team.path}/members/${target.name}`], { body: { role } });
    expect(await patch(team.admin, "owner")).toMatchObject({ status: 403 });
    expect(await patch(team.member, "owner")).toMatchObject({ status: 403 });
    expect(await patch(team.owner, "viewer")).toMatchObject({ status: 403 });
    const removal = ["DELETE", `${team.path}/members/${team.owner.name}`] as const;
    expect(await send(team.admin.secret, removal)).toMatchObject({ status: 403 });
    expect(await patch(team.member, "admin")).toMatchObject({ status: 200 });
    expect(
      await send(team.viewer.secret, ["DELETE", `${team.path}/members/${team.member.name}`]),
    ).toMatchObject({ status: 403 });
  });

  test("has no access on the next request after being removed or leaving", async () => {
    const team = await addTeam();
    expect(
      await send(team.admin.secret, ["DELETE", `${team.path}/members/${team.member.name}`]),
    ).toMatchObject({ status: 204 });
    expect(await send(team.member.secret, ["GET", team.path])).toMatchObject({ status: 403 });
    expect(
      await send(team.viewer.secret, ["DELETE", `${team.path}/members/${team.viewer.name}`]),
    ).toMatchObject({ status: 204 });
    expect(await send(team.viewer.secret, ["GET", team.path])).toMatchObject({ status: 403 });
    expect(await send(team.viewer.secret, ["GET", "/workspaces"])).toMatchObject({ status: 200 });
  });

  test("can't give up the owner role if no other owner can sign in", async () => {
    const team = await addTeam();
    const own = `${team.path}/members/${team.owner.name}`;
    const conflict = {
      status: 409,
      body: { error: { code: "CONFLICT", message: expect.stringContaining("last owner") } },
    };
    expect(await send(team.owner.secret, ["DELETE", own])).toMatchObject(conflict);
    expect(await send(team.owner.secret, ["PATCH", own], { body: { role: "admin" } })).toMatchObject(
      conflict,
    );
    const second = `${team.path}/members/${team.admin.name}`;
    await send(team.owner.secret, ["PATCH", second], { body: { role: "owner" } });
    await app.owner
      .updateTable("users")
      .set({ disabled_at: new Date() })
      .where("id", "=", team.admin.userId)
      .execute();
    expect(await send(team.owner.secret, ["DELETE", own])).toMatchObject(conflict);
    await app.owner
      .updateTable("users")
      .set({ disabled_at: null })
      .where("id", "=", team.admin.userId)
      .execute();
    expect(await send(team.owner.secret, ["DELETE", own])).toMatchObject({ status: 204 });
  });
});

describe("the audit log", () => {
  test("records the actor, key, IP address, old values and new values of every change", async () => {
    const team = await addTeam();
    const renamed = await send(team.admin.secret, ["PATCH", team.path], { body: { name: "Renamed" } });
    const path = `${team.path}/members/${team.viewer.name}`;
    await send(team.owner.secret, ["PATCH", path], { body: { role: "member" } });
    await send(team.owner.secret, ["DELETE", path]);
    const events = await auditOf(team);
    const keys = await app.owner.selectFrom("api_keys").select(["id", "user_id"]).execute();
    const keyOf = ({ userId }: Person) =>
      encodeId("key", keys.find((key) => key.user_id === userId)?.id as never);
    const by = (person: Person) => ({ kind: "key", userId: person.name, name: "Ada", keyId: keyOf(person) });
    const target = { kind: "member", id: team.viewer.name };
    expect(events).toMatchObject([
      { action: "workspace.created", actor: by(team.owner), after: { name: "Team" }, before: null },
      {
        action: "workspace.renamed",
        actor: by(team.admin),
        target: { kind: "workspace", id: team.id },
        before: { name: "Team" },
        after: { name: "Renamed" },
        address: "127.0.0.1",
        requestId: renamed.requestId,
      },
      {
        action: "member.role-changed",
        actor: by(team.owner),
        target,
        before: { role: "viewer" },
        after: { role: "member" },
      },
      { action: "member.removed", actor: by(team.owner), target, before: { role: "member" }, after: null },
    ]);
    const stored = app.owner
      .selectFrom("audit_events")
      .select("before")
      .where("action", "=", "member.removed");
    // Without the email address of the former member.
    expect(await stored.where("workspace_id", "=", team.scope.workspaceId).execute()).toEqual([
      { before: { role: "member" } },
    ]);
  });

  test("has no events of rejected requests", async () => {
    const team = await addTeam();
    const before = await auditOf(team);
    await send(team.viewer.secret, ["PATCH", team.path], { body: { name: "No" } });
    await send(team.owner.secret, ["PATCH", team.path], {
      body: { name: "No" },
      headers: { "If-Match": '"9"' },
    });
    await send(team.owner.secret, ["DELETE", `${team.path}/members/${team.owner.name}`]);
    expect(await auditOf(team)).toEqual(before);
  });

  test("can be filtered by action, actor, target and time", async () => {
    const team = await addTeam();
    await send(team.admin.secret, ["PATCH", team.path], { body: { name: "Renamed" } });
    const read = async (query: string) => {
      const { status, body } = await send(team.owner.secret, ["GET", `${team.path}/audit-events?${query}`]);
      return status === 200 ? body.data?.map(({ action }) => action) : status;
    };
    expect(await read("")).toEqual(["workspace.renamed", "workspace.created"]);
    expect(await read("action=workspace.renamed")).toEqual(["workspace.renamed"]);
    expect(await read(`actorId=${team.owner.name}`)).toEqual(["workspace.created"]);
    expect(await read(`targetId=${team.id}`)).toEqual(["workspace.renamed", "workspace.created"]);
    expect(await read(`targetId=${team.viewer.name}`)).toEqual([]);
    expect(await read(`targetId=${team.id}&actorId=${team.owner.name}`)).toEqual(["workspace.created"]);
    const [created, renamed] = await auditOf(team);
    expect(await read(`from=${renamed?.occurredAt}`)).toEqual(["workspace.renamed"]);
    expect(await read(`to=${created?.occurredAt}`)).toEqual([]);
    for (const bad of ["action=nothing", "actorId=me", "targetId=me", "from=yesterday", "cursor=x"])
      expect(await read(bad)).toBe(400);
  });
});

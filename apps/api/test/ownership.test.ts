// Transferring ownership of a workspace.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { enableAccount } from "../src/domain/accounts.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import { transferOwnership } from "../src/domain/ownership.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Person {
  readonly client: ReturnType<typeof openClient>["client"];
  readonly userId: UserId;
  readonly id: string;
  readonly email: string;
}

async function addPerson(on: TestApp = app): Promise<Person> {
  const { userId, email } = await on.addUser();
  const { client } = openClient(on.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, id: encodeId("user", userId), email };
}

async function addTeam(on: TestApp = app) {
  const [owner, member] = [await addPerson(on), await addPerson(on)];
  const { id: workspaceId } = await owner.client.workspaces.create.mutate({ name: "Team" });
  // The API has just created it.
  const scope = openAsOperator(decodeId("workspace", workspaceId) as WorkspaceId);
  const edit = { scope, origin: commandOrigin };
  const { quotas, db } = on.services;
  const run = db.transaction();
  const add = async (person: Person, role: Role): Promise<Person> => {
    await run.execute((trx) => addMember(trx, edit, { userId: person.userId, role }, quotas));
    return person;
  };
  await add(member, "member");
  const input = { workspaceId };
  return {
    owner,
    member,
    add,
    input,
    path: `/open/workspaces/${workspaceId}`,
    setRole: (person: Person, role: Role) =>
      run.execute((trx) =>
        changeMemberRole(trx, edit, { userId: person.userId, role, versions: undefined }, quotas),
      ),
    remove: (person: Person) => run.execute((trx) => removeMember(trx, edit, { userId: person.userId })),
    transfer: (to: Person, from?: Person) =>
      run.execute((trx) => transferOwnership(trx, edit, { from: from?.userId, to: to.userId }, quotas)),
    offer: (to = member, from = owner) => from.client.ownership.offer.mutate({ ...input, userId: to.id }),
    accept: (by = member) => by.client.ownership.accept.mutate(input),
    end: (by = owner) => by.client.ownership.end.mutate(input),
    pending: (by = owner) => by.client.ownership.get.query(input),
    async roles() {
      const rows = await app.owner
        .selectFrom("members")
        .select(["user_id", "role"])
        .where("workspace_id", "=", scope.workspaceId)
        .execute();
      return Object.fromEntries(rows.map(({ user_id, role }) => [encodeId("user", user_id), role]));
    },
    async events() {
      const { items } = await owner.client.audit.list.query(input);
      return items.toReversed().filter(({ action }) => action.startsWith("ownership."));
    },
  };
}

const failsWith = (code: string) => ({ data: { code } });

async function send(secret: string, [method, path]: readonly [string, string], body?: object) {
  const response = await fetch(app.baseUrl + path, {
    method,
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response.status;
}

test("after an offer and its acceptance, the member is the owner, and the former owner an admin", async () => {
  const { owner, member, offer, accept, pending, roles, events } = await addTeam();
  const offered = await offer();
  expect(offered).toMatchObject({ from: { userId: owner.id }, to: { userId: member.id, name: "Ada" } });
  expect(new Date(offered.expiresAt).getTime() - new Date(offered.createdAt).getTime()).toBeCloseTo(
    604_800_000,
    -3,
  );
  expect(await pending(member)).toEqual(offered);
  expect(await roles()).toEqual({ [owner.id]: "owner", [member.id]: "member" });
  expect(await accept()).toMatchObject({ userId: member.id, role: "owner" });
  expect(await roles()).toEqual({ [owner.id]: "admin", [member.id]: "owner" });
  expect(await pending()).toBeNull();
  await expect(accept()).rejects.toMatchObject(failsWith("NOT_FOUND"));
  expect(await events()).toMatchObject([
    { action: "ownership.offered", actor: { userId: owner.id }, target: { id: member.id } },
    { action: "ownership.accepted", actor: { userId: member.id }, after: { owner: "Ada" } },
  ]);
});

test("only the member to whom it is offered can accept", async () => {
  const { owner, member, add, offer, accept, roles } = await addTeam();
  const others = [owner, await add(await addPerson(), "owner"), await add(await addPerson(), "admin")];
  await offer();
  const before = await roles();
  for (const other of others) await expect(accept(other)).rejects.toMatchObject(failsWith("FORBIDDEN"));
  expect(await roles()).toEqual(before);
  expect(await accept()).toMatchObject({ userId: member.id, role: "owner" });
});

test("the new roles apply to the next request of both users' keys", async () => {
  const { owner, member, offer, accept, path } = await addTeam();
  const [owners, members] = [await app.addKey(owner.userId), await app.addKey(member.userId)];
  const rename = (secret: string) => send(secret, ["PATCH", path], { name: "Renamed" });
  const offerBack = () => send(owners.secret, ["POST", `${path}/ownership-transfer`], { userId: member.id });
  expect(await rename(members.secret)).toBe(403);
  await offer();
  await accept();
  expect(await rename(members.secret)).toBe(200);
  expect(await offerBack()).toBe(403);
});

test("the offer can be declined and withdrawn, and a workspace has at most one", async () => {
  const { member, add, offer, end, events, pending } = await addTeam();
  const admin = await add(await addPerson(), "admin");
  await offer();
  await expect(offer(admin)).rejects.toMatchObject(failsWith("CONFLICT"));
  await expect(end(admin)).rejects.toMatchObject(failsWith("FORBIDDEN"));
  await end(member);
  await offer(admin);
  await end();
  await expect(end()).rejects.toMatchObject(failsWith("NOT_FOUND"));
  expect(await pending()).toBeNull();
  expect((await events()).map(({ action }) => action)).toEqual([
    "ownership.offered",
    "ownership.declined",
    "ownership.offered",
    "ownership.withdrawn",
  ]);
});

test("nothing can be offered to an owner or a disabled member", async () => {
  const { member, add, offer } = await addTeam();
  const coOwner = await add(await addPerson(), "owner");
  await expect(offer(coOwner)).rejects.toMatchObject(failsWith("CONFLICT"));
  await app.disableUser(member.userId);
  await expect(offer()).rejects.toMatchObject(failsWith("CONFLICT"));
});

test("offering and accepting require recent authentication; declining and withdrawing don't", async () => {
  const { owner, member, offer, accept, end } = await addTeam();
  const expire = ({ userId }: Person) =>
    sql`
      update sessions set created_at = created_at - interval '1 hour', authenticated_at = null
      where user_id = ${userId}`.execute(app.owner);
  await expire(owner);
  const isRejected = { data: { issues: [{ code: "reauthentication_required" }] } };
  await expect(offer()).rejects.toMatchObject(isRejected);
  await owner.client.account.confirmPassword.mutate({ password });
  await offer();
  await expire(member);
  await expect(accept()).rejects.toMatchObject(isRejected);
  await end(member);
  await offer();
  await expire(owner);
  await end();
});

describe("an offer is void", () => {
  test.each<[string, (team: Awaited<ReturnType<typeof addTeam>>, coOwner: Person) => Promise<unknown>]>([
    [
      "after seven days",
      () => sql`update ownership_transfers set expires_at = clock_timestamp()`.execute(app.owner),
    ],
    ["once its owner has another role", ({ owner, setRole }) => setRole(owner, "admin")],
    ["once its owner is removed", ({ owner, remove }) => remove(owner)],
    ["while its owner is disabled", ({ owner }) => app.disableUser(owner.userId)],
    ["once the member is removed", ({ member, remove }) => remove(member)],
    ["while the member is disabled", ({ member }) => app.disableUser(member.userId)],
    ["once the member is an owner", ({ member, setRole }) => setRole(member, "owner")],
  ])("%s", async (_when, change) => {
    const team = await addTeam();
    const { member, add, accept, offer, pending } = team;
    const [coOwner, other] = [await add(await addPerson(), "owner"), await add(await addPerson(), "viewer")];
    await offer();
    await change(team, coOwner);
    expect(await pending(coOwner)).toBeNull();
    await expect(accept(member)).rejects.toBeDefined();
    expect((await team.roles())[coOwner.id]).toBe("owner");
    // It doesn't prevent another offer.
    expect(await offer(other, coOwner)).toMatchObject({ to: { userId: other.id } });
  });

  test("and stays void if its owner becomes an owner again, or the member joins again", async () => {
    const { owner, member, add, offer, pending, setRole, remove } = await addTeam();
    const coOwner = await add(await addPerson(), "owner");
    await offer();
    await setRole(owner, "member");
    await setRole(owner, "owner");
    expect(await pending(coOwner)).toBeNull();
    await offer();
    await remove(member);
    await add(member, "member");
    expect(await pending(coOwner)).toBeNull();
  });

  test.each<[string, (team: Awaited<ReturnType<typeof addTeam>>, coOwner: Person) => Promise<unknown>]>([
    ["is promoted", ({ member, setRole }) => setRole(member, "owner")],
    ["becomes the owner by another transfer", ({ member, transfer }, coOwner) => transfer(member, coOwner)],
  ])("and stays void if the member %s and loses the role again", async (_how, makeOwner) => {
    const team = await addTeam();
    const { member, add, offer, accept, pending, setRole } = team;
    const coOwner = await add(await addPerson(), "owner");
    await offer();
    await makeOwner(team, coOwner);
    await setRole(member, "viewer");
    expect(await pending()).toBeNull();
    await expect(accept()).rejects.toMatchObject(failsWith("NOT_FOUND"));
  });

  test("only until a disabled user is enabled again", async () => {
    const { member, offer, accept } = await addTeam();
    await offer();
    await app.disableUser(member.userId);
    await app.services.db.transaction().execute((trx) => enableAccount(trx, member.userId, commandOrigin));
    await member.client.session.signIn.mutate({ email: member.email, password });
    expect(await accept()).toMatchObject({ role: "owner" });
  });
});

test("of concurrent attempts to accept, decline and withdraw, exactly one wins", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { owner, member, offer, accept, end, roles, events } = await addTeam();
    await offer();
    const outcomes = await Promise.allSettled([accept(), end(), end(member), accept(), end()]);
    const won = outcomes.filter(({ status }) => status === "fulfilled");
    expect(won).toHaveLength(1);
    // A former owner who is an admin can no longer withdraw an offer.
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject(failsWith("NOT_FOUND"));
    const [, ended, ...others] = await events();
    expect(others).toEqual([]);
    const isAccepted = ended?.action === "ownership.accepted";
    expect(await roles()).toEqual({
      [owner.id]: isAccepted ? "admin" : "owner",
      [member.id]: isAccepted ? "owner" : "member",
    });
  }
});

test("while ownership is accepted, other owners leave and roles change without a deadlock", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { owner, member, add, offer, accept, remove, setRole, roles } = await addTeam();
    const coOwner = await add(await addPerson(), "owner");
    const keys = await Promise.all([owner, member].map(({ userId }) => app.addKey(userId)));
    await offer();
    const outcomes = await Promise.allSettled([
      accept(),
      remove(coOwner),
      setRole(owner, "viewer"),
      setRole(member, "admin"),
      ...keys.map(({ secret }) => send(secret, ["GET", "/open/me"])),
    ]);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") {
        const { code = outcome.reason.data?.code } = outcome.reason;
        expect(["NOT_FOUND", "CONFLICT"]).toContain(code);
      }
    expect(Object.values(await roles())).toContain("owner");
  }
});

describe("a restricted key", () => {
  const addRestrictedKey = async (userId: UserId, settings: Parameters<typeof createKey>[1]["settings"]) => {
    const key = { userId, name: "key", description: "", settings, origin: commandOrigin };
    const { db, quotas } = app.services;
    return (await db.transaction().execute((trx) => createKey(trx, key, quotas))).secret;
  };

  test("offers and accepts only with every permission of an owner", async () => {
    const { owner, member, path } = await addTeam();
    const route = `${path}/ownership-transfer`;
    const few = { permissions: ["members:read", "members:manage"] } as const;
    const isReadOnly = { isReadOnly: true };
    const limited = await addRestrictedKey(owner.userId, few);
    expect(await send(limited, ["POST", route], { userId: member.id })).toBe(403);
    const { secret } = await app.addKey(owner.userId);
    expect(await send(secret, ["POST", route], { userId: member.id })).toBe(201);
    expect(await send(limited, ["DELETE", route])).toBe(403);
    const receivers = await addRestrictedKey(member.userId, few);
    const readers = await addRestrictedKey(member.userId, isReadOnly);
    expect(await send(receivers, ["POST", `${route}/accept`])).toBe(403);
    expect(await send(readers, ["POST", `${route}/accept`])).toBe(403);
    expect(await send(readers, ["GET", route])).toBe(200);
    expect(await send(readers, ["DELETE", route])).toBe(403);
    expect(await send(receivers, ["DELETE", route])).toBe(204);
    expect(await send(secret, ["POST", route], { userId: member.id })).toBe(201);
    const unrestricted = await app.addKey(member.userId);
    expect(await send(unrestricted.secret, ["POST", `${route}/accept`])).toBe(200);
  });
});

test("accepting counts against the quota of owned workspaces", async () => {
  const limited = await startTestApp({ quotas: { workspacesPerUser: 2 } });
  try {
    const { member, offer, accept } = await addTeam(limited);
    await member.client.workspaces.create.mutate({ name: "Second" });
    await offer();
    await expect(accept()).rejects.toMatchObject(failsWith("UNPROCESSABLE_CONTENT"));
  } finally {
    await limited.close();
  }
});

test("the operator transfers ownership directly, even from a disabled owner", async () => {
  const { owner, member, add, transfer, roles, events } = await addTeam();
  const viewer = await add(await addPerson(), "viewer");
  await transfer(member);
  expect(await roles()).toEqual({ [owner.id]: "admin", [member.id]: "owner", [viewer.id]: "viewer" });
  expect(await events()).toMatchObject([
    { action: "ownership.transferred", actor: { kind: "command" }, target: { id: member.id } },
  ]);
  await expect(transfer(member)).rejects.toMatchObject({ code: "CONFLICT" });
  await expect(transfer(viewer, owner)).rejects.toMatchObject({ code: "CONFLICT" });
  await expect(transfer(await addPerson())).rejects.toMatchObject({ code: "NOT_FOUND" });
  const coOwner = await add(await addPerson(), "owner");
  await expect(transfer(viewer)).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(coOwner.id),
  });
  await app.disableUser(member.userId);
  await transfer(viewer, member);
  expect((await roles())[viewer.id]).toBe("owner");
});

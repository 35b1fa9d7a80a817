import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, decodeId, encodeId } from "@latchkey/db/ids";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Members that the command adds, changes and removes; a running server applies the changes immediately.

const password = "twelve characters or more";

let instance: TestInstance;
let node: InProcessNode;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
});

afterAll(async () => {
  await instance?.close();
});

async function perform(args: readonly string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

interface Person {
  readonly email: string;
  readonly userId: string;
  /** The first workspace of the user, which they own. */
  readonly workspaceId: string;
}

let people = 0;

async function createPerson(): Promise<Person> {
  people += 1;
  const email = `person-${people}@example.com`;
  const user = ["user", "create", "--email", email, "--name", "Somebody", "--password-stdin", "--json"];
  const { userId, workspaceId } = expectResult(await instance.command(user, password));
  return { email, userId: String(userId), workspaceId: String(workspaceId) };
}

async function createKey({ email }: Person): Promise<string> {
  const { key } = await perform(["key", "create", "--user", email, "--name", "theirs"]);
  return String(key);
}

const inWorkspace = (workspaceId: string, { email }: Pick<Person, "email">): string[] => [
  ...["--workspace", workspaceId],
  ...["--user", email],
];
const add = (workspaceId: string, person: Pick<Person, "email">, role: string): string[] => [
  ...["member", "add"],
  ...inWorkspace(workspaceId, person),
  ...["--role", role],
];
const changeRole = (workspaceId: string, person: Pick<Person, "email">, role: string): string[] => [
  ...["member", "role"],
  ...inWorkspace(workspaceId, person),
  ...["--role", role],
];
const remove = (workspaceId: string, person: Pick<Person, "email">): string[] => [
  ...["member", "remove"],
  ...inWorkspace(workspaceId, person),
];

const unknownWorkspace = "ws_01h455vb4pex5vsknk084sn02q";
const nobody = { email: "nobody@example.com" };

test("member add and member remove apply to a user's key from the next request", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const { workspaceId } = owner;
  const [key, ownersKey] = [await createKey(guest), await createKey(owner)];
  const path = `/open/workspaces/${workspaceId}`;
  expect(await callOpen(node.baseUrl, key, path)).toMatchObject({ status: 403, code: "FORBIDDEN" });

  const added = await perform(add(workspaceId, guest, "viewer"));
  const member = {
    userId: guest.userId,
    kind: "person",
    email: guest.email,
    role: "viewer",
    isDisabled: false,
    version: 1,
  };
  const expected = { ...member, name: "Somebody", joinedAt: expect.stringMatching(/Z$/) };
  expect(added).toEqual({ workspaceId, ...expected });
  const inside = await callOpen(node.baseUrl, key, path);
  expect(inside.status).toBe(200);
  expect(JSON.parse(inside.body)).toMatchObject({ id: workspaceId, role: "viewer" });

  const removed = await perform(remove(workspaceId, guest));
  expect(removed).toEqual({ workspaceId, userId: guest.userId, stoppedKeys: 1 });
  expect(await callOpen(node.baseUrl, key, path)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  // The users' own workspaces don't change.
  expect(await callOpen(node.baseUrl, key, `/open/workspaces/${guest.workspaceId}`)).toMatchObject({
    status: 200,
  });
  expect(await callOpen(node.baseUrl, ownersKey, path)).toMatchObject({ status: 200 });

  const log = await callOpen(node.baseUrl, ownersKey, `${path}/audit-events`);
  expect(JSON.parse(log.body).data).toMatchObject([
    { action: "member.removed", actor: { kind: "command" }, target: { id: guest.userId } },
    { action: "member.added", actor: { kind: "command" }, target: { id: guest.userId } },
    { action: "key.created", actor: { kind: "command" }, target: { kind: "key" } },
    { action: "workspace.created" },
  ]);
});

test.each(["owner", "admin", "member", "viewer"])("member add gives the role %s", async (role) => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  await perform(add(owner.workspaceId, guest, role));
  const { body } = await callOpen(
    node.baseUrl,
    await createKey(guest),
    `/open/workspaces/${owner.workspaceId}`,
  );
  expect(JSON.parse(body)).toMatchObject({ role });
});

test("without --json the output is aligned lines", async () => {
  const [{ workspaceId }, guest] = [await createPerson(), await createPerson()];
  const added = await instance.command(add(workspaceId, { email: guest.email.toUpperCase() }, "member"));
  expect(expectText(added).split("\n").slice(0, 4)).toEqual([
    `Workspace ID  ${workspaceId}`,
    `User ID       ${guest.userId}`,
    "Role          member",
    "Status        active",
  ]);
  const removed = await instance.command(remove(workspaceId, guest));
  expect(expectText(removed)).toBe(
    `Removed                ${guest.userId} from ${workspaceId}\nKeys that lost access  0\n`,
  );
});

test("accepts a user ID instead of an email address", async () => {
  const [{ workspaceId }, guest] = [await createPerson(), await createPerson()];
  const byId = { email: guest.userId };
  expect(await perform(add(workspaceId, byId, "viewer"))).toMatchObject({ email: guest.email });
  expect(await perform(changeRole(workspaceId, byId, "admin"))).toMatchObject({ role: "admin" });
  expect(await perform(remove(workspaceId, byId))).toMatchObject({ workspaceId, userId: guest.userId });
});

test("member role applies to the next request, and is in the audit log", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const { workspaceId } = owner;
  const [key, ownersKey] = [await createKey(guest), await createKey(owner)];
  const path = `/open/workspaces/${workspaceId}/audit-events`;
  await perform(add(workspaceId, guest, "viewer"));
  expect((await callOpen(node.baseUrl, key, path)).status).toBe(403);
  const changed = await perform(changeRole(workspaceId, guest, "admin"));
  expect(changed).toMatchObject({ workspaceId, userId: guest.userId, role: "admin", version: 2 });
  expect((await callOpen(node.baseUrl, key, path)).status).toBe(200);
  const log = await callOpen(node.baseUrl, ownersKey, path);
  expect(JSON.parse(log.body).data[0]).toMatchObject({
    action: "member.role-changed",
    actor: { kind: "command" },
    target: { id: guest.userId },
    before: { role: "viewer" },
    after: { role: "admin" },
  });
  expectFailure(await instance.command(changeRole(workspaceId, owner, "viewer")), lastOwner);
});

test("--preview lists the keys that lose access with a new role or a removal, with their last use, and changes nothing", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const { workspaceId } = owner;
  await perform(add(workspaceId, guest, "admin"));
  const key = await createKey(guest);
  expect((await callOpen(node.baseUrl, key, `/open/workspaces/${workspaceId}`)).status).toBe(200);
  interface AffectedKey {
    readonly lastUsedAt: string | null;
    readonly stoppedPermissions: readonly string[];
  }
  const preview = async (command: readonly string[]) =>
    (await perform([...command, "--preview"])).data as readonly AffectedKey[]; // What the test looks at.
  const isUsed = async () => (await preview(remove(workspaceId, guest)))[0]?.lastUsedAt !== null;
  await eventually("the use is recorded", isUsed);
  const [removed] = await preview(remove(workspaceId, guest));
  expect(removed).toMatchObject({ name: "theirs", owner: { id: guest.userId, role: "admin" } });
  expect(removed?.stoppedPermissions).toContain("workspace:read");
  const [demoted] = await preview(changeRole(workspaceId, guest, "viewer"));
  expect(demoted?.stoppedPermissions).toContain("members:manage");
  expect(demoted?.stoppedPermissions).not.toContain("workspace:read");
  expect(await preview(changeRole(workspaceId, guest, "owner"))).toEqual([]);
  const text = expectText(await instance.command([...remove(workspaceId, guest), "--preview"]));
  expect(text).toMatch(
    /^ID +STATUS +LAST USED HERE +EXPIRES +NAME +LOSES\n.* accepted +20\d\d-\S+Z +never +theirs +everything\n$/,
  );
  const { body } = await callOpen(node.baseUrl, key, `/open/workspaces/${workspaceId}`);
  expect(JSON.parse(body)).toMatchObject({ role: "admin" });
});

test("member replace-keys gives a service account the role of a member, who may be disabled, and a key for each active key", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const { workspaceId } = owner;
  const replace = [
    ...["member", "replace-keys"],
    ...inWorkspace(workspaceId, guest),
    ...["--name", "Deploys"],
  ];
  const notFound = { status: 1, code: "NOT_FOUND" } as const;
  const noMember = { ...notFound, message: "There is no such member." };
  expectFailure(await instance.command(replace), noMember);
  await perform(add(workspaceId, guest, "admin"));
  const noKey = { ...notFound, message: "The member has no active API key that can reach the workspace." };
  expectFailure(await instance.command(replace), noKey);
  const former = await createKey(guest);
  await perform(["user", "disable", guest.email]);
  const { data } = await perform(replace);
  await perform(["user", "enable", guest.email]);
  const [replacement, ...others] = data as readonly Record<string, string>[]; // The JSON of a list.
  expect(others).toEqual([]);
  expect(replacement).toMatchObject({ name: "theirs", key: expect.stringMatching(/^lk_/) });
  expect(replacement?.key).not.toBe(former);
  const members = (await perform(["member", "list", "--workspace", workspaceId])).data;
  expect(members).toContainEqual(
    expect.objectContaining({ userId: replacement?.serviceAccountId, name: "Deploys", role: "admin" }),
  );
  await perform(remove(workspaceId, guest));
  const statusOf = async (key: string) =>
    (await callOpen(node.baseUrl, key, `/open/workspaces/${workspaceId}`)).status;
  expect([await statusOf(former), await statusOf(replacement?.key ?? "")]).toEqual([403, 200]);
});

test("member list prints all members in the order in which they joined, as in the open API", async () => {
  const [owner, first, second] = [await createPerson(), await createPerson(), await createPerson()];
  const { workspaceId } = owner;
  await perform(add(workspaceId, second, "viewer"));
  await perform(add(workspaceId, first, "admin"));
  const { data, ...others } = await perform(["member", "list", "--workspace", workspaceId]);
  expect(others).toEqual({});
  expect(data).toMatchObject([{ email: owner.email }, { email: second.email }, { email: first.email }]);
  const { body } = await callOpen(
    node.baseUrl,
    await createKey(owner),
    `/open/workspaces/${workspaceId}/members`,
  );
  const shown = JSON.parse(body).data as object[]; // The open API's own shape.
  expect(data).toEqual(shown.map((member) => ({ workspaceId, ...member })));
  const text = expectText(await instance.command(["member", "list", "--workspace", workspaceId]));
  expect(text.split("\n")[0]).toMatch(/^USER ID +ROLE +STATUS +JOINED +KIND +EMAIL +NAME$/);
});

test("member list continues beyond one page", async () => {
  const { workspaceId } = await createPerson();
  const connection = await connectionTo(instance.cluster);
  const ids = Array.from({ length: 230 }, () => createId("user"));
  const db = openTestPool(connection, { applicationName: "test" });
  await db
    .insertInto("users")
    .values(ids.map((id) => ({ id, email: `${id}@example.com`, name: "Many" })))
    .execute();
  const workspace = decodeId("workspace", workspaceId);
  if (!workspace) throw new Error("The command printed no workspace ID.");
  await db.transaction().execute(async (trx) => {
    await enterWorkspace(trx, openAsOperator(workspace));
    const members = ids.map((id) => ({ workspace_id: workspace, user_id: id, role: "viewer" as const }));
    await trx.insertInto("members").values(members).execute();
  });
  await db.destroy();
  const { data } = await perform(["member", "list", "--workspace", workspaceId]);
  const listed = (data as { userId: string }[]).map(({ userId }) => userId); // What the test looks at.
  expect(listed.slice(1).sort()).toEqual(ids.map((id) => encodeId("user", id)).sort());
});

test("reports an unknown workspace and an unknown user", async () => {
  const owner = await createPerson();
  const noWorkspace = {
    status: 1,
    code: "NOT_FOUND",
    message: /no workspace ws_01h455vb4pex5vsknk084sn02q/,
  } as const;
  expectFailure(await instance.command(add(unknownWorkspace, owner, "viewer")), noWorkspace);
  expectFailure(await instance.command(remove(unknownWorkspace, owner)), noWorkspace);
  expectFailure(await instance.command(changeRole(unknownWorkspace, owner, "viewer")), noWorkspace);
  expectFailure(await instance.command(["member", "list", "--workspace", unknownWorkspace]), noWorkspace);
  const noUser = { status: 1, code: "NOT_FOUND", message: /no user .*nobody@example\.com/ } as const;
  expectFailure(await instance.command(add(owner.workspaceId, nobody, "viewer")), noUser);
  expectFailure(await instance.command(remove(owner.workspaceId, nobody)), noUser);
});

test("an existing member isn't added again, and keeps their role", async () => {
  const owner = await createPerson();
  expectFailure(await instance.command(add(owner.workspaceId, owner, "viewer")), {
    status: 1,
    code: "CONFLICT",
    message: /already a member/,
  });
  const { body } = await callOpen(
    node.baseUrl,
    await createKey(owner),
    `/open/workspaces/${owner.workspaceId}`,
  );
  expect(JSON.parse(body)).toMatchObject({ role: "owner" });
});

test("a user who isn't a member can't be removed", async () => {
  const [owner, stranger] = [await createPerson(), await createPerson()];
  expectFailure(await instance.command(remove(owner.workspaceId, stranger)), {
    status: 1,
    code: "NOT_FOUND",
    message: /no such member/,
  });
});

const lastOwner = { status: 1, code: "CONFLICT", message: /last owner/ } as const;

test("the last owner can't be removed, and one of two can", async () => {
  const [owner, second] = [await createPerson(), await createPerson()];
  expectFailure(await instance.command(remove(owner.workspaceId, owner)), lastOwner);
  await perform(add(owner.workspaceId, second, "owner"));
  await perform(remove(owner.workspaceId, owner));
  expectFailure(await instance.command(remove(owner.workspaceId, second)), lastOwner);
});

test("if two owners are removed at the same time, one remains", async () => {
  const [owner, second] = [await createPerson(), await createPerson()];
  await perform(add(owner.workspaceId, second, "owner"));
  const endings = await Promise.all(
    [owner, second].map((person) => instance.command(remove(owner.workspaceId, person))),
  );
  expect(endings.map(({ status }) => status).sort()).toEqual([0, 1]);
  const rejected = endings.find(({ status }) => status === 1);
  if (rejected) expectFailure(rejected, lastOwner);
});

test("user disable rejects the only owner of a workspace with other members, and changes nothing", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const key = await createKey(owner);
  await perform(add(owner.workspaceId, guest, "admin"));
  expectFailure(await instance.command(["user", "disable", owner.email]), {
    ...lastOwner,
    message: `This user is the last owner of a workspace that has other members. Transfer ownership to another member first: ${owner.workspaceId}.`,
  });
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  // A user who owns nothing there can be disabled, and then the owner is the only member.
  await perform(["user", "disable", guest.email]);
  await perform(remove(owner.workspaceId, guest));
  await perform(["user", "disable", owner.email]);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);
});

test("user disable works if there is another owner who isn't disabled", async () => {
  const [owner, second] = [await createPerson(), await createPerson()];
  await perform(add(owner.workspaceId, second, "owner"));
  await perform(["user", "disable", second.email]);
  expectFailure(await instance.command(["user", "disable", owner.email]), lastOwner);
  await perform(["user", "enable", second.email]);
  expect(await perform(["user", "disable", owner.userId])).toMatchObject({ isDisabled: true });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import type { ProductNode } from "../support/product.ts";
import { expectFailure, expectResult, expectText } from "./expect-ending.ts";

// Members from the command line, in force at once for a server that runs.

const password = "twelve characters or more";

let place: Place;
let node: ProductNode;

beforeAll(async () => {
  place = await createPlace();
  node = await place.start();
});

afterAll(async () => {
  await place?.close();
});

async function perform(args: readonly string[]): Promise<Record<string, unknown>> {
  return expectResult(await place.command(["--json", ...args]));
}

interface Person {
  readonly email: string;
  readonly userId: string;
  /** The workspace that they came with, which they own. */
  readonly workspaceId: string;
}

let people = 0;

async function createPerson(): Promise<Person> {
  people += 1;
  const email = `person-${people}@example.com`;
  const user = ["user", "create", "--email", email, "--name", "Somebody", "--password-stdin", "--json"];
  const { userId, workspaceId } = expectResult(await place.command(user, password));
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
const remove = (workspaceId: string, person: Pick<Person, "email">): string[] => [
  ...["member", "remove"],
  ...inWorkspace(workspaceId, person),
];

const unknownWorkspace = "ws_01h455vb4pex5vsknk084sn02q";
const nobody = { email: "nobody@example.com" };

test("member add lets a user's key in, and member remove out, on the very next request", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const { workspaceId } = owner;
  const [key, ownersKey] = [await createKey(guest), await createKey(owner)];
  const path = `/open/workspaces/${workspaceId}`;
  expect(await callOpen(node.baseUrl, key, path)).toMatchObject({ status: 403, code: "FORBIDDEN" });

  const added = await perform(add(workspaceId, guest, "viewer"));
  expect(added).toEqual({ workspaceId, userId: guest.userId, role: "viewer" });
  const inside = await callOpen(node.baseUrl, key, path);
  expect(inside.status).toBe(200);
  expect(JSON.parse(inside.body)).toMatchObject({ id: workspaceId, role: "viewer" });

  const removed = await perform(remove(workspaceId, guest));
  expect(removed).toEqual({ workspaceId, userId: guest.userId, removed: true });
  expect(await callOpen(node.baseUrl, key, path)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  // Their own workspace is theirs as before, and the owner's is the owner's.
  expect(await callOpen(node.baseUrl, key, `/open/workspaces/${guest.workspaceId}`)).toMatchObject({
    status: 200,
  });
  expect(await callOpen(node.baseUrl, ownersKey, path)).toMatchObject({ status: 200 });

  const log = await callOpen(node.baseUrl, ownersKey, `${path}/audit-events`);
  expect(JSON.parse(log.body).data).toMatchObject([
    { action: "member.removed", actor: { kind: "command" }, target: { id: guest.userId } },
    { action: "member.added", actor: { kind: "command" }, target: { id: guest.userId } },
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

test("without --json both print lines to read", async () => {
  const [{ workspaceId }, guest] = [await createPerson(), await createPerson()];
  const added = await place.command(add(workspaceId, { email: guest.email.toUpperCase() }, "member"));
  expect(expectText(added)).toBe(`workspaceId: ${workspaceId}\nuserId: ${guest.userId}\nrole: member\n`);
  const removed = await place.command(remove(workspaceId, guest));
  expect(expectText(removed)).toBe(`workspaceId: ${workspaceId}\nuserId: ${guest.userId}\nremoved: true\n`);
});

test("an unknown workspace and an unknown user are not found, in words", async () => {
  const owner = await createPerson();
  const noWorkspace = {
    status: 1,
    code: "NOT_FOUND",
    message: /no workspace ws_01h455vb4pex5vsknk084sn02q/,
  } as const;
  expectFailure(await place.command(add(unknownWorkspace, owner, "viewer")), noWorkspace);
  expectFailure(await place.command(remove(unknownWorkspace, owner)), noWorkspace);
  const noUser = { status: 1, code: "NOT_FOUND", message: /no user .*nobody@example\.com/ } as const;
  expectFailure(await place.command(add(owner.workspaceId, nobody, "viewer")), noUser);
  expectFailure(await place.command(remove(owner.workspaceId, nobody)), noUser);
});

test("who is a member already is not added again, and keeps their role", async () => {
  const owner = await createPerson();
  expectFailure(await place.command(add(owner.workspaceId, owner, "viewer")), {
    status: 1,
    code: "CONFLICT",
    message: /member already/,
  });
  const { body } = await callOpen(
    node.baseUrl,
    await createKey(owner),
    `/open/workspaces/${owner.workspaceId}`,
  );
  expect(JSON.parse(body)).toMatchObject({ role: "owner" });
});

test("who is no member cannot be removed", async () => {
  const [owner, stranger] = [await createPerson(), await createPerson()];
  expectFailure(await place.command(remove(owner.workspaceId, stranger)), {
    status: 1,
    code: "NOT_FOUND",
    message: /no such member/,
  });
});

test.each([
  ["a role that is none", add(unknownWorkspace, nobody, "king"), /role: Use owner, admin, member, or viewer/],
  ["a role in capitals", add(unknownWorkspace, nobody, "Owner"), /role: Use owner/],
  ["what is no id", add("1234", nobody, "viewer"), /workspace: Not the id of a workspace/],
  ["an id of something else", remove("usr_01h455vb4pex5vsknk084sn02q", nobody), /workspace: Not the id/],
  ["what is no address to add", add(unknownWorkspace, { email: "me" }, "viewer"), /user: .*address/],
  ["what is no address to remove", remove(unknownWorkspace, { email: "me" }), /user: .*address/],
])("%s is an error with status 1", async (_what, args, message) => {
  expectFailure(await place.command(args), { status: 1, code: "BAD_REQUEST", message });
});

const lastOwner = { status: 1, code: "CONFLICT", message: /last owner/ } as const;

test("the last owner cannot be removed, and one of two can", async () => {
  const [owner, second] = [await createPerson(), await createPerson()];
  expectFailure(await place.command(remove(owner.workspaceId, owner)), lastOwner);
  await perform(add(owner.workspaceId, second, "owner"));
  await perform(remove(owner.workspaceId, owner));
  expectFailure(await place.command(remove(owner.workspaceId, second)), lastOwner);
});

test("of two owners removed at once one stays", async () => {
  const [owner, second] = [await createPerson(), await createPerson()];
  await perform(add(owner.workspaceId, second, "owner"));
  const endings = await Promise.all(
    [owner, second].map((person) => place.command(remove(owner.workspaceId, person))),
  );
  expect(endings.map(({ status }) => status).sort()).toEqual([0, 1]);
  const refused = endings.find(({ status }) => status === 1);
  if (refused) expectFailure(refused, lastOwner);
});

test("user disable refuses whom others would be left without as an owner, and changes nothing", async () => {
  const [owner, guest] = [await createPerson(), await createPerson()];
  const key = await createKey(owner);
  await perform(add(owner.workspaceId, guest, "admin"));
  expectFailure(await place.command(["user", "disable", owner.email]), lastOwner);
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  // Who owns nothing there may go, and then the owner is alone.
  await perform(["user", "disable", guest.email]);
  await perform(remove(owner.workspaceId, guest));
  await perform(["user", "disable", owner.email]);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);
});

test("user disable works beside another owner, unless that one is disabled too", async () => {
  const [owner, second] = [await createPerson(), await createPerson()];
  await perform(add(owner.workspaceId, second, "owner"));
  await perform(["user", "disable", second.email]);
  expectFailure(await place.command(["user", "disable", owner.email]), lastOwner);
  await perform(["user", "enable", second.email]);
  expect(await perform(["user", "disable", owner.email])).toEqual({ userId: owner.userId, disabled: true });
});

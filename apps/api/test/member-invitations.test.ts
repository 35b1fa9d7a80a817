// A member invites people with a role up to their own, and manages only the invitations that they sent.
import type { Permission } from "@latchkey/auth/permissions";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { addMember } from "../src/domain/members.ts";
import { maxInvitationsPerMember } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

type Person = Awaited<ReturnType<typeof addPerson>>;

async function addPerson() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, email, id: encodeId("user", userId) };
}

async function addTeam() {
  const owner = await addPerson();
  const { id } = await owner.client.workspaces.create.mutate({ name: "Team" });
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
  const add = async (role: Role) => {
    const person = await addPerson();
    const { db, quotas } = app.services;
    const edit = { scope, origin: commandOrigin };
    await db.transaction().execute((trx) => addMember(trx, edit, { userId: person.userId, role }, quotas));
    return person;
  };
  return { id, owner, member: await add("member"), admin: await add("admin") };
}

const newEmail = () => `${crypto.randomUUID()}@example.com`;
const tokenOf = (url: string | undefined) => url?.split("#")[1] ?? "";
const failsWith = (code: string) => ({ data: { code } });

async function listEmails(workspaceId: string, { client }: Person) {
  const { items, total } = await client.invitations.list.query({ workspaceId });
  expect(total).toBe(items.length);
  return items.map(({ email }) => email);
}

test("a member invites someone, who joins with at most the member's role", async () => {
  const { id: workspaceId, member } = await addTeam();
  expect((await member.client.members.list.query({ workspaceId })).invitableRoles).toEqual([
    "member",
    "viewer",
  ]);
  expect((await member.client.members.list.query({ workspaceId })).grantableRoles).toEqual([]);
  const guest = await addPerson();
  for (const role of ["owner", "admin"] as const) {
    const invite = member.client.invitations.create.mutate({ workspaceId, email: guest.email, role });
    await expect(invite).rejects.toMatchObject(failsWith("FORBIDDEN"));
  }
  const { url } = await member.client.invitations.create.mutate({
    ...{ workspaceId, email: guest.email, role: "member" },
  });
  await guest.client.invitations.accept.mutate({ token: tokenOf(url) });
  const { items } = await guest.client.members.list.query({ workspaceId, search: guest.email });
  expect(items).toMatchObject([{ role: "member" }]);
});

test("a member sees and changes only the invitations that they sent last", async () => {
  const { id: workspaceId, owner, admin, member } = await addTeam();
  const [own, other] = [newEmail(), newEmail()];
  const { id } = await member.client.invitations.create.mutate({ workspaceId, email: own, role: "viewer" });
  const sent = await owner.client.invitations.create.mutate({ workspaceId, email: other, role: "viewer" });
  expect(await listEmails(workspaceId, member)).toEqual([own]);
  expect(await listEmails(workspaceId, admin)).toEqual([own, other]);
  for (const change of ["resend", "revoke"] as const) {
    const attempt = member.client.invitations[change].mutate({ workspaceId, id: sent.id });
    await expect(attempt).rejects.toMatchObject({
      message: "There is no such invitation.",
      ...failsWith("NOT_FOUND"),
    });
  }
  await expect(
    member.client.invitations.create.mutate({ workspaceId, email: other, role: "viewer" }),
  ).rejects.toMatchObject({ message: expect.stringMatching(/^Another member has already invited/) });

  await member.client.invitations.resend.mutate({ workspaceId, id });
  await admin.client.invitations.resend.mutate({ workspaceId, id });
  expect(await listEmails(workspaceId, member)).toEqual([]);
  await expect(member.client.invitations.revoke.mutate({ workspaceId, id })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
});

test("an invitation that the actor can't send again is left to those who can", async () => {
  const { id: workspaceId, owner, admin, member } = await addTeam();
  const email = newEmail();
  const invite = ({ client }: Person) =>
    client.invitations.create.mutate({ workspaceId, email, role: "viewer" });
  const { id } = await owner.client.invitations.create.mutate({ workspaceId, email, role: "owner" });
  const others =
    "This person already has an invitation as an owner. Ask an owner to send it again or revoke it.";
  await expect(invite(admin)).rejects.toMatchObject({ ...failsWith("CONFLICT"), message: others });
  const own = "This person already has an invitation. Send it again, or revoke it first.";
  await expect(invite(owner)).rejects.toMatchObject({ ...failsWith("CONFLICT"), message: own });

  await owner.client.invitations.revoke.mutate({ workspaceId, id });
  await admin.client.invitations.create.mutate({ workspaceId, email, role: "admin" });
  await owner.client.members.changeRole.mutate({
    ...{ workspaceId, userId: admin.id, role: "member", version: 1 },
  });
  await expect(invite(admin)).rejects.toMatchObject({
    message:
      "This person already has an invitation as an admin. Ask an owner or admin to send it again or revoke it.",
  });
  await expect(invite(member)).rejects.toMatchObject({
    message: expect.stringMatching(/^Another member has already invited/),
  });
});

test("a member can have 25 unaccepted invitations, and an admin can have more", async () => {
  const { id: workspaceId, admin, member } = await addTeam();
  const invite = ({ client }: Person) =>
    client.invitations.create.mutate({ workspaceId, email: newEmail(), role: "viewer" });
  const { id } = await invite(member);
  while ((await listEmails(workspaceId, member)).length < maxInvitationsPerMember - 2) await invite(member);
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => invite(member)));
  const failures = outcomes.filter((outcome) => outcome.status === "rejected");
  expect(await listEmails(workspaceId, member)).toHaveLength(maxInvitationsPerMember);
  expect(failures).toHaveLength(3);
  for (const { reason } of failures)
    expect(reason).toMatchObject({
      message: expect.stringContaining("Without the permission to manage members, you can’t have more"),
      data: { code: "UNPROCESSABLE_CONTENT", issues: [{ code: "quota_exceeded" }] },
    });
  for (let count = 0; count <= maxInvitationsPerMember; count += 1) await invite(admin);
  await member.client.invitations.resend.mutate({ workspaceId, id });
  await member.client.invitations.revoke.mutate({ workspaceId, id });
  await invite(member);
});

test("the invitations of a member who became a viewer are invalid, and they manage none", async () => {
  const { id: workspaceId, owner, member } = await addTeam();
  const guest = await addPerson();
  const { id, url } = await member.client.invitations.create.mutate({
    ...{ workspaceId, email: guest.email, role: "viewer" },
  });
  await owner.client.members.changeRole.mutate({
    workspaceId,
    userId: member.id,
    role: "viewer",
    version: 1,
  });
  await expect(guest.client.invitations.accept.mutate({ token: tokenOf(url) })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
  for (const attempt of [
    () => member.client.invitations.list.query({ workspaceId }),
    () => member.client.invitations.resend.mutate({ workspaceId, id }),
    () => member.client.invitations.revoke.mutate({ workspaceId, id }),
  ])
    await expect(attempt()).rejects.toMatchObject(failsWith("FORBIDDEN"));
});

test("a key restricted to inviting people manages its owner's invitations, and a key that manages members manages all invitations", async () => {
  const { id, owner, member } = await addTeam();
  const path = `/open/workspaces/${id}/invitations`;
  // A key can't grant a permission that it lacks.
  const ofMembers = ["keyspaces:read", "keys:read", "keys:verify"] as const;
  const reading = ["members:read", "workspace:read", ...ofMembers] as const;
  const invite = async (userId: UserId, permissions: readonly Permission[]) => {
    const key = { userId, name: "key", description: "", settings: { permissions }, origin: commandOrigin };
    const { db, quotas } = app.services;
    const { secret } = await db.transaction().execute((trx) => createKey(trx, key, quotas));
    const send = async (method: string, body?: object) => {
      const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
      const response = await fetch(app.baseUrl + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as { data?: object[] } };
    };
    const { status } = await send("POST", { email: newEmail(), role: "member" });
    const { body } = await send("GET");
    return [status, body.data?.length];
  };
  expect(await invite(member.userId, ["members:invite", ...reading])).toEqual([201, 1]);
  expect(await invite(owner.userId, ["members:invite", ...reading])).toEqual([201, 1]);
  // A key from before members could invite people.
  expect(await invite(owner.userId, ["members:manage", ...reading])).toEqual([201, 3]);
  expect(await invite(member.userId, [...reading])).toEqual([403, undefined]);
  expect(await invite(member.userId, ["members:manage", ...reading])).toEqual([201, 2]);
});

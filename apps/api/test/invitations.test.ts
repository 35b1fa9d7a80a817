// Invitations to a workspace, whose link is shown to the inviter.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type InvitationId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { acceptInvitation } from "../src/domain/accept-invitation.ts";
import { prepareInvitationEmail } from "../src/domain/invitation-jobs.ts";
import { digestLink } from "../src/domain/invitation-link.ts";
import { createInvitation, reissueLink } from "../src/domain/invitations.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { remove } from "../src/domain/workspaces.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

type Client = ReturnType<typeof openClient>["client"];

interface Person {
  readonly client: Client;
  readonly userId: UserId;
  readonly email: string;
}

async function addPerson({ services, addUser, baseUrl }: TestApp = app): Promise<Person> {
  const { userId, email } = await addUser();
  const { client } = openClient(baseUrl);
  await client.session.signIn.mutate({ email, password });
  expect(services.baseUrl).toBe(baseUrl);
  return { client, userId, email };
}

interface Team {
  readonly owner: Person;
  /** The ID in API responses. */
  readonly id: string;
  readonly workspaceId: WorkspaceId;
  readonly invite: (email: string, role?: Role, inviter?: Person) => Promise<{ id: string; token: string }>;
}

async function addTeam(on: TestApp = app): Promise<Team> {
  const owner = await addPerson(on);
  const { id } = await owner.client.workspaces.create.mutate({ name: "Team" });
  return {
    owner,
    id,
    workspaceId: decodeId("workspace", id) as WorkspaceId, // The API has just created it.
    async invite(email, role = "member", { client } = owner) {
      const sent = await client.invitations.create.mutate({ workspaceId: id, email, role });
      return { id: sent.id, token: tokenOf(sent.url) };
    },
  };
}

const tokenOf = (url: string | undefined): string =>
  /^http.+\/invitation#([\w-]{43})$/.exec(url ?? "")?.[1] ?? "";
const newEmail = () => `${crypto.randomUUID()}@example.com`;
const editOf = ({ workspaceId }: Team) => ({ scope: openAsOperator(workspaceId), origin: commandOrigin });

async function add(team: Team, role: Role): Promise<Person> {
  const person = await addPerson();
  const { userId } = person;
  const { quotas, db } = app.services;
  await db.transaction().execute((trx) => addMember(trx, editOf(team), { userId, role }, quotas));
  return person;
}

const failsWith = (code: string) => ({ data: { code } });
const list = ({ id }: Team, { client }: Person) => client.invitations.list.query({ workspaceId: id });

/** The audit log of a workspace, oldest first, without its creation. */
async function readEvents({ owner, id }: Team) {
  const { items } = await owner.client.audit.list.query({ workspaceId: id });
  return items.toReversed().slice(1);
}

test("an invited person accepts with their account, once", async () => {
  const team = await addTeam();
  const guest = await addPerson();
  const { id, token } = await team.invite(guest.email.toUpperCase(), "admin");
  expect(await list(team, team.owner)).toMatchObject({
    total: 1,
    items: [
      {
        id,
        email: guest.email,
        role: "admin",
        status: "pending",
        invitedBy: { userId: encodeId("user", team.owner.userId), name: "Ada" },
      },
    ],
  });
  const { client: visitor } = openClient(app.baseUrl);
  expect(await visitor.invitations.preview.mutate({ token })).toEqual({
    email: guest.email,
    role: "admin",
    workspaceName: "Team",
    inviterName: "Ada",
    hasAccount: null,
  });
  expect(await guest.client.invitations.accept.mutate({ token })).toEqual({
    id: team.id,
    name: "Team",
    slug: expect.stringMatching(/^team/),
    role: "admin",
    isDisabled: false,
  });
  expect(await list(team, guest)).toMatchObject({ total: 0, items: [] });
  await expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
  await expect(visitor.invitations.preview.mutate({ token })).rejects.toMatchObject(failsWith("NOT_FOUND"));
  const userId = encodeId("user", guest.userId);
  expect(await readEvents(team)).toMatchObject([
    {
      action: "invitation.created",
      target: { kind: "invitation", id },
      after: { email: guest.email, role: "admin" },
    },
    {
      action: "member.joined",
      actor: { userId },
      target: { kind: "member", id: userId },
      after: { role: "admin", invitedBy: "Ada" },
    },
  ]);
});

test("only the link of an emailed invitation reveals whether the email address has an account", async () => {
  const emailing = await startTestApp({ sendsEmail: true });
  try {
    for (const on of [app, emailing]) {
      const team = await addTeam(on);
      const { email } = await on.addUser();
      for (const [invited, hasAccount] of [
        [email, true],
        [newEmail(), false],
      ] as const) {
        const invitation = { workspaceId: team.id, email: invited, role: "viewer" } as const;
        const { id, url } = await team.owner.client.invitations.create.mutate(invitation);
        const { workspaceId } = team;
        const invitationId = decodeId("invitation", id) as InvitationId; // It was just created.
        const { baseUrl, services } = on;
        const emailed = await prepareInvitationEmail(services.db, { workspaceId, invitationId }, baseUrl);
        expect(url === undefined).toBe(on === emailing);
        expect(emailed === undefined).toBe(on !== emailing);
        const token = tokenOf(emailed?.url ?? url);
        expect(await openClient(baseUrl).client.invitations.preview.mutate({ token })).toMatchObject({
          email: invited,
          hasAccount: on === emailing ? hasAccount : null,
        });
      }
    }
  } finally {
    await emailing.close();
  }
});

test("a person without an account signs up, and is a member of only this workspace", async () => {
  const team = await addTeam();
  const email = newEmail();
  const { token } = await team.invite(email, "viewer");
  const { client } = openClient(app.baseUrl);
  expect(await client.invitations.preview.mutate({ token })).toMatchObject({ email, hasAccount: null });
  await expect(
    client.session.signUpInvited.mutate({ token, name: "Grace", password: "password1234" }),
  ).rejects.toMatchObject({ data: { issues: [{ path: "password", code: "too_guessable" }] } });
  expect(await client.session.signUpInvited.mutate({ token, name: "Grace", password })).toMatchObject({
    user: { email, name: "Grace" },
    workspaces: [{ id: team.id, role: "viewer" }],
  });
  expect((await client.session.current.query())?.workspaces).toHaveLength(1);
  const { client: again } = openClient(app.baseUrl);
  await again.session.signIn.mutate({ email, password });
  // The inviter saw the link, so opening it doesn't verify the email address.
  const user = await app.owner
    .selectFrom("users")
    .select("email_verified")
    .where("email", "=", email)
    .execute();
  expect(user).toEqual([{ email_verified: false }]);
});

test("with REGISTRATION=invite, only invited people can sign up; with closed, nobody can", async () => {
  const invite = await startTestApp({ registration: "invite" });
  try {
    const team = await addTeam(invite);
    const [email, { client }] = [newEmail(), openClient(invite.baseUrl)];
    await expect(client.session.signUp.mutate({ name: "Grace", email, password })).rejects.toMatchObject({
      ...failsWith("FORBIDDEN"),
      message:
        "You need an invitation to sign up on this instance. Open the link in your invitation, and continue there.",
    });
    const { token } = await team.invite(email);
    const session = await client.session.signUpInvited.mutate({ token, name: "Grace", password });
    expect(session.workspaces).toMatchObject([{ id: team.id }]);
  } finally {
    await invite.close();
  }
  const closed = await startTestApp({ registration: "closed" });
  try {
    const team = await addTeam(closed);
    const { token } = await team.invite(newEmail());
    const { client } = openClient(closed.baseUrl);
    const isDisabled = {
      ...failsWith("FORBIDDEN"),
      message: "Sign-up is disabled on this instance. Ask its operator for an account.",
    };
    const account = { name: "Grace", password };
    await expect(client.session.signUp.mutate({ ...account, email: newEmail() })).rejects.toMatchObject(
      isDisabled,
    );
    await expect(client.session.signUpInvited.mutate({ ...account, token })).rejects.toMatchObject(
      isDisabled,
    );
    const guest = await addPerson(closed);
    const { token: other } = await team.invite(guest.email);
    expect(await guest.client.invitations.accept.mutate({ token: other })).toMatchObject({ id: team.id });
  } finally {
    await closed.close();
  }
});

test("an email address that the account no longer has can't accept an invitation", async () => {
  const team = await addTeam();
  const guest = await addPerson();
  const { token } = await team.invite(guest.email);
  const change = "with changed as (update users set email = $2 where id = $1) select";
  const commit = await holdLocks(app.database, change, [guest.userId, newEmail()]);
  const rejected = expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject({
    data: { code: "FORBIDDEN" },
    message: `This invitation is for ${guest.email}. Sign in with that email address to accept it.`,
  });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  await rejected;
  expect((await team.owner.client.members.list.query({ workspaceId: team.id })).total).toBe(1);
});

test("one of 50 concurrent attempts to accept succeeds, and one of 50 to sign up", async () => {
  const team = await addTeam();
  const guest = await addPerson();
  const { token } = await team.invite(guest.email);
  const { db, quotas } = app.services;
  const invitee = { userId: guest.userId, address: null, requestId: null };
  const accepted = await Promise.allSettled(
    Array.from({ length: 50 }, () =>
      db.transaction().execute((trx) => acceptInvitation(trx, token, invitee, quotas)),
    ),
  );
  expect(accepted.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of accepted) {
    if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "NOT_FOUND" });
  }

  const { token: other } = await team.invite(newEmail());
  const signedUp = await Promise.allSettled(
    Array.from({ length: 50 }, () =>
      openClient(app.baseUrl).client.session.signUpInvited.mutate({ token: other, name: "Grace", password }),
    ),
  );
  expect(signedUp.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const { total } = await team.owner.client.members.list.query({ workspaceId: team.id });
  expect(total).toBe(3);
});

test("only a user with the invited email address can accept", async () => {
  const team = await addTeam();
  const email = newEmail();
  const { token } = await team.invite(email);
  const stranger = await addPerson();
  await expect(stranger.client.invitations.accept.mutate({ token })).rejects.toMatchObject({
    message: `This invitation is for ${email}. Sign in with that email address to accept it.`,
    data: { code: "FORBIDDEN" },
  });
  expect(await list(team, team.owner)).toMatchObject({ total: 1 });
  const { client } = openClient(app.baseUrl);
  await client.session.signUpInvited.mutate({ token, name: "Grace", password });
});

test("an invitation expires after seven days, and is valid again when it is sent again", async () => {
  const team = await addTeam();
  const guest = await addPerson();
  const { id, token } = await team.invite(guest.email);
  const { rows } = await sql<{ days: number }>`
    select extract(epoch from expires_at - created_at)::float8 / 86400 as days from invitations
    where workspace_id = ${team.workspaceId}`.execute(app.owner);
  expect(rows[0]?.days).toBeCloseTo(7, 3);
  await sql`update invitations set expires_at = now() where workspace_id = ${team.workspaceId}`.execute(
    app.owner,
  );
  await sql`update verifications set expires_at = now() where value like ${`${team.workspaceId}/%`}`.execute(
    app.owner,
  );
  await expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
  expect(await list(team, team.owner)).toMatchObject({ items: [{ status: "expired" }] });

  const input = { workspaceId: team.id, id };
  const { url } = await team.owner.client.invitations.resend.mutate(input);
  expect(await list(team, team.owner)).toMatchObject({ items: [{ id, status: "pending" }] });
  const first = tokenOf(url);
  const second = tokenOf((await team.owner.client.invitations.resend.mutate(input)).url);
  expect(new Set([token, first, second]).size).toBe(3);
  await expect(guest.client.invitations.accept.mutate({ token: first })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
  await guest.client.invitations.accept.mutate({ token: second });
  expect((await readEvents(team)).map(({ action }) => action)).toEqual([
    "invitation.created",
    "invitation.resent",
    "invitation.resent",
    "member.joined",
  ]);
});

test("a revoked invitation, and one to a deleted workspace, can't be accepted", async () => {
  const team = await addTeam();
  const guest = await addPerson();
  const { id, token } = await team.invite(guest.email);
  await team.owner.client.invitations.revoke.mutate({ workspaceId: team.id, id });
  await expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
  await expect(
    team.owner.client.invitations.revoke.mutate({ workspaceId: team.id, id }),
  ).rejects.toMatchObject(failsWith("NOT_FOUND"));
  expect((await readEvents(team)).at(-1)).toMatchObject({
    action: "invitation.revoked",
    before: { email: guest.email, role: "member" },
  });

  const next = await team.invite(guest.email);
  await app.services.db.transaction().execute((trx) => remove(trx, editOf(team)));
  await expect(guest.client.invitations.accept.mutate({ token: next.token })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
  await expect(guest.client.invitations.preview.mutate({ token: next.token })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
});

test("if no owner of a workspace can sign in, people can join it only as owners", async () => {
  const team = await addTeam();
  const { client } = team.owner;
  const { userId } = await client.serviceAccounts.create.mutate({
    workspaceId: team.id,
    name: "HR",
    role: "admin",
  });
  const { key } = await client.serviceAccounts.createKey.mutate({ workspaceId: team.id, userId, name: "HR" });
  const [guest, other, stranger] = [await addPerson(), await addPerson(), newEmail()];
  const invite = async (email: string) => {
    const response = await fetch(`${app.baseUrl}/open/workspaces/${team.id}/invitations`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ email, role: "member" }),
    });
    return tokenOf(((await response.json()) as { url: string }).url); // The API declares it.
  };
  const [token, strangersToken] = [await invite(guest.email), await invite(stranger)];
  await app.disableUser(team.owner.userId);
  const withoutOwner = {
    message: expect.stringContaining("no owner who can sign in"),
    data: { code: "CONFLICT" },
  };
  await expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject(withoutOwner);
  const account = { name: "Stranger", password, token: strangersToken };
  const { client: visitor } = openClient(app.baseUrl);
  await expect(visitor.session.signUpInvited.mutate(account)).rejects.toMatchObject(withoutOwner);
  const addAs = (role: Role) =>
    app.services.db
      .transaction()
      .execute((trx) => addMember(trx, editOf(team), { userId: other.userId, role }, app.services.quotas));
  await expect(addAs("admin")).rejects.toMatchObject({ code: "CONFLICT" });
  await addAs("owner");
  // The invitations are still valid.
  await guest.client.invitations.accept.mutate({ token });
  await visitor.session.signUpInvited.mutate(account);
});

describe("the inviter", () => {
  const losses: Readonly<Record<string, (team: Team, admin: Person) => Promise<unknown>>> = {
    "is removed": (team, { userId }) =>
      app.services.db.transaction().execute((trx) => removeMember(trx, editOf(team), { userId })),
    "can no longer grant the role": (team, { userId }) =>
      app.services.db.transaction().execute((trx) => {
        const change = { userId, role: "member", versions: undefined } as const;
        return changeMemberRole(trx, editOf(team), change, app.services.quotas);
      }),
    "is disabled": (_team, { userId }) => app.disableUser(userId),
  };
  test.each(Object.entries(losses))(
    "%s, so the invitation is invalid until another sends it again",
    async (_name, lose) => {
      const team = await addTeam();
      const admin = await add(team, "admin");
      const guest = await addPerson();
      const { id, token } = await team.invite(guest.email, "admin", admin);
      await lose(team, admin);
      await expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject(
        failsWith("NOT_FOUND"),
      );
      await expect(guest.client.invitations.preview.mutate({ token })).rejects.toMatchObject(
        failsWith("NOT_FOUND"),
      );
      expect(await list(team, team.owner)).toMatchObject({ items: [{ status: "invalid" }] });
      const { url } = await team.owner.client.invitations.resend.mutate({ workspaceId: team.id, id });
      await guest.client.invitations.accept.mutate({ token: tokenOf(url) });
    },
  );

  test("can't grant, renew or revoke a role with more permissions than their own", async () => {
    const team = await addTeam();
    const admin = await add(team, "admin");
    await expect(team.invite(newEmail(), "owner", admin)).rejects.toMatchObject(failsWith("FORBIDDEN"));
    const { id } = await team.invite(newEmail(), "owner");
    const input = { workspaceId: team.id, id };
    await expect(admin.client.invitations.resend.mutate(input)).rejects.toMatchObject(failsWith("FORBIDDEN"));
    await expect(admin.client.invitations.revoke.mutate(input)).rejects.toMatchObject(failsWith("FORBIDDEN"));
    expect(await list(team, admin)).toMatchObject({
      total: 1,
      grantableRoles: ["admin", "member", "viewer"],
    });
  });

  test("requires recent authentication to grant a role that manages members", async () => {
    const team = await addTeam();
    await sql`
      update sessions set authenticated_at = now() - interval '16 minutes', created_at = now() - interval '16 minutes'
      where user_id = ${team.owner.userId}`.execute(app.owner);
    await expect(team.invite(newEmail(), "admin")).rejects.toMatchObject({
      data: { code: "FORBIDDEN", issues: [{ code: "reauthentication_required" }] },
    });
    await team.invite(newEmail(), "member");
  });
});

test("a member can't be invited, and an email address can't be invited twice", async () => {
  const team = await addTeam();
  const member = await add(team, "member");
  await expect(team.invite(member.email)).rejects.toMatchObject({
    message: "This person is already a member.",
    data: { code: "CONFLICT" },
  });
  const guest = await addPerson();
  const { token } = await team.invite(guest.email);
  await expect(team.invite(guest.email, "viewer")).rejects.toMatchObject(failsWith("CONFLICT"));
  // Adding them in another way ends the invitation.
  const { userId } = guest;
  const { db, quotas } = app.services;
  await db.transaction().execute((trx) => addMember(trx, editOf(team), { userId, role: "viewer" }, quotas));
  expect(await list(team, team.owner)).toMatchObject({ total: 0 });
  await expect(guest.client.invitations.accept.mutate({ token })).rejects.toMatchObject(
    failsWith("NOT_FOUND"),
  );
});

test("one email address gets ten emails with invitations per hour, and beyond that, the inviter gets the link", async () => {
  const emailing = await startTestApp({ sendsEmail: true });
  try {
    const [first, second] = [await addTeam(emailing), await addTeam(emailing)];
    const email = newEmail();
    const invite = ({ id: workspaceId, owner }: Team, to: string) =>
      owner.client.invitations.create.mutate({ workspaceId, email: to, role: "viewer" });
    const { id, url } = await invite(first, email);
    const urls = [url];
    for (let count = 1; count < 10; count += 1) {
      urls.push((await first.owner.client.invitations.resend.mutate({ workspaceId: first.id, id })).url);
    }
    expect(urls).toEqual(Array.from({ length: 10 }, () => undefined));
    // The limit applies to the recipient, across all inviters.
    const token = tokenOf((await invite(second, email.toUpperCase())).url);
    expect(await openClient(emailing.baseUrl).client.invitations.preview.mutate({ token })).toMatchObject({
      email,
      hasAccount: null,
    });
    expect((await invite(second, newEmail())).url).toBeUndefined();
    // Attempts beyond the limit don't extend it.
    await sql`update throttle_buckets set full_at = full_at - interval '6 minutes'`.execute(emailing.owner);
    const resent = await first.owner.client.invitations.resend.mutate({ workspaceId: first.id, id });
    expect(resent.url).toBeUndefined();
  } finally {
    await emailing.close();
  }
});

test("quotas limit the invitations of a workspace, those of a user per hour, and what the invitee may own", async () => {
  const small = await startTestApp({
    quotas: {
      invitationsPerWorkspace: 3,
      invitationsPerHour: 5,
      workspacesPerUser: 2,
      membersPerWorkspace: 2,
    },
  });
  try {
    const team = await addTeam(small);
    const { client } = team.owner;
    const sent = await Promise.allSettled(Array.from({ length: 5 }, () => team.invite(newEmail())));
    expect(sent.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    for (const outcome of sent) {
      if (outcome.status === "rejected") {
        expect(outcome.reason.data).toMatchObject({ httpStatus: 422, issues: [{ code: "quota_exceeded" }] });
      }
    }
    // The rejected ones were not sent, so two are left.
    const { items } = await list(team, team.owner);
    const input = { workspaceId: team.id, id: items[0]?.id ?? "" };
    await client.invitations.resend.mutate(input);
    await client.invitations.resend.mutate(input);
    await expect(client.invitations.resend.mutate(input)).rejects.toMatchObject({
      data: { code: "TOO_MANY_REQUESTS", retryAfterSeconds: expect.any(Number) },
    });

    await sql`delete from throttle_buckets`.execute(small.owner);
    await client.invitations.revoke.mutate(input);
    const rich = await addPerson(small);
    await rich.client.workspaces.create.mutate({ name: "Second" });
    const { token } = await team.invite(rich.email, "owner");
    await expect(rich.client.invitations.accept.mutate({ token })).rejects.toMatchObject({
      data: {
        issues: [{ code: "quota_exceeded" }],
        pieces: expect.arrayContaining([{ count: expect.any(Number) }]),
      },
    });
    expect(await rich.client.invitations.preview.mutate({ token })).toMatchObject({ role: "owner" });
    const [, other] = items;
    const { url } = await client.invitations.resend.mutate({ workspaceId: team.id, id: other?.id ?? "" });
    const { client: guest } = openClient(small.baseUrl);
    await guest.session.signUpInvited.mutate({ token: tokenOf(url), name: "Grace", password });
    const { url: last } = await client.invitations.resend.mutate({
      workspaceId: team.id,
      id: items[2]?.id ?? "",
    });
    await expect(
      guest.session.signUpInvited.mutate({ token: tokenOf(last), name: "Linus", password }),
    ).rejects.toMatchObject({ data: { issues: [{ code: "quota_exceeded" }] } });
  } finally {
    await small.close();
  }
});

test("invitations that expired a month ago are deleted when someone is invited", async () => {
  const team = await addTeam();
  await team.invite(newEmail());
  const { id } = await team.invite(newEmail());
  await sql`
    update invitations set expires_at = now() - case when id = ${decodeId("invitation", id)} then interval '31 days' else interval '29 days' end
    where workspace_id = ${team.workspaceId}`.execute(app.owner);
  await team.invite(newEmail());
  const { items } = await list(team, team.owner);
  expect(items.map(({ status }) => status)).toEqual(["expired", "pending"]);
});

describe("the open API", () => {
  async function send(
    secret: string,
    [method, path]: readonly [string, string],
    body?: object,
    name?: string,
  ) {
    const response = await fetch(`${app.baseUrl}/open${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${secret}`,
        ...(body && { "Content-Type": "application/json" }),
        ...(name && { "Idempotency-Key": name }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
  }

  test("creates, lists, sends again and revokes invitations", async () => {
    const team = await addTeam();
    const { secret } = await app.addKey(team.owner.userId);
    const path = `/workspaces/${team.id}/invitations`;
    const email = newEmail();
    const made = await send(secret, ["POST", path], { email, role: "viewer" });
    expect(made).toMatchObject({
      status: 201,
      body: {
        email,
        role: "viewer",
        status: "pending",
        secretStatus: "issued",
        url: expect.stringMatching(/#/),
      },
    });
    const { url: _url, secretStatus: _status, ...shown } = made.body;
    expect(await send(secret, ["GET", path])).toMatchObject({ status: 200, body: { data: [shown] } });
    const again = await send(secret, ["POST", `${path}/${made.body.id}/resend`]);
    expect(again).toMatchObject({ status: 200, body: { id: made.body.id, url: expect.stringMatching(/#/) } });
    expect(again.body.url).not.toBe(made.body.url);
    expect(await send(secret, ["DELETE", `${path}/${made.body.id}`])).toMatchObject({ status: 204 });
    expect(await send(secret, ["DELETE", `${path}/${made.body.id}`])).toMatchObject({ status: 404 });
    expect(await send(secret, ["POST", `${path}/${made.body.id}/resend`])).toMatchObject({ status: 404 });
    expect(await send(secret, ["POST", path], { email: "grace", role: "boss" })).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path: "email" }, { path: "role" }] } },
    });
  });

  test("a retry gets another link while the invitation is pending, and none afterwards", async () => {
    const team = await addTeam();
    const guest = await addPerson();
    const { secret } = await app.addKey(team.owner.userId);
    const create = () =>
      send(
        secret,
        ["POST", `/workspaces/${team.id}/invitations`],
        { email: guest.email, role: "member" },
        "invite-1",
      );
    const first = await create();
    const second = await create();
    expect(second).toMatchObject({ status: 201, body: { id: first.body.id, secretStatus: "reissued" } });
    expect(second.body.url).not.toBe(first.body.url);
    // The lifetime of the invitation starts again with the new link.
    expect(second.body.expiresAt).not.toBe(first.body.expiresAt);
    await expect(
      guest.client.invitations.accept.mutate({ token: tokenOf(first.body.url) }),
    ).rejects.toMatchObject(failsWith("NOT_FOUND"));
    await guest.client.invitations.accept.mutate({ token: tokenOf(second.body.url) });
    const third = await create();
    expect(third).toMatchObject({ status: 201, body: { id: first.body.id, secretStatus: "omitted" } });
    expect(third.body).not.toHaveProperty("url");
  });

  test("a retry gets a link again, even if it could be emailed now", async () => {
    const { baseUrl, services } = app;
    const [team, guest] = [await addTeam(), await addPerson()];
    const options = { quotas: defaultQuotas, baseUrl };
    const { invitation, url } = await services.db
      .transaction()
      .execute((trx) =>
        createInvitation(
          trx,
          editOf(team),
          { email: guest.email, role: "member" },
          { ...options, sendsEmail: false },
        ),
      );
    const retried = await services.db
      .transaction()
      .execute((trx) =>
        reissueLink(trx, editOf(team), digestLink(url ?? ""), { ...options, sendsEmail: true }),
      );
    expect(retried).toMatchObject({ invitation: { id: invitation.id, isEmailed: false } });
    await guest.client.invitations.accept.mutate({ token: tokenOf(retried?.url) });
  });

  test("stores no token", async () => {
    const team = await addTeam();
    const { secret } = await app.addKey(team.owner.userId);
    const path = `/workspaces/${team.id}/invitations`;
    const body = { email: newEmail(), role: "member" };
    const token = tokenOf((await send(secret, ["POST", path], body, "invite-2")).body.url);
    expect(token).toHaveLength(43);
    for (const table of ["invitations", "verifications", "audit_events", "idempotency_records"]) {
      const { rows } = await sql`
        select from ${sql.table(table)} t where strpos(to_jsonb(t)::text, ${token}) > 0`.execute(app.owner);
      expect(rows, table).toEqual([]);
    }
    expect(app.readLog()).not.toContain(token);
  });
});

test("the lists of the web app have pages of the chosen size, with a cursor to the next one", async () => {
  const team = await addTeam();
  for (let count = 0; count < 11; count += 1) await team.invite(newEmail());
  const { client } = team.owner;
  const input = { workspaceId: team.id, pageSize: 10 } as const;
  const first = await client.invitations.list.query(input);
  expect(first).toMatchObject({ items: { length: 10 }, total: 11, nextCursor: expect.any(String) });
  const cursor = first.nextCursor ?? "";
  const second = await client.invitations.list.query({ ...input, cursor });
  expect(second).toMatchObject({ items: { length: 1 }, nextCursor: null });
  expect((await client.audit.list.query(input)).items).toHaveLength(10);
  expect((await client.members.list.query(input)).items).toHaveLength(1);
  expect((await client.securityLog.list.query({ pageSize: 10 })).nextCursor).toBeNull();
  const wrong = { ...input, pageSize: 7 as 10 };
  for (const { list: page } of [client.invitations, client.audit, client.members]) {
    await expect(page.query(wrong)).rejects.toMatchObject(failsWith("BAD_REQUEST"));
  }
});

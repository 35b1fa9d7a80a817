import { openAsOperator } from "@latchkey/auth/workspace-access";
import {
  decodeId,
  encodeId,
  type KeyId,
  type KeyspaceId,
  type UserId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import { noticedQuotas } from "@latchkey/db/notice-kinds";
import { AppError } from "@latchkey/errors";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey, updateKey } from "../src/domain/api-key-edits.ts";
import { createIssuedKey } from "../src/domain/issued-keys.ts";
import { createKeyspace } from "../src/domain/keyspaces.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import type { Quotas } from "../src/domain/quotas.ts";
import { createWorkspace, remove } from "../src/domain/workspaces.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

const quotas: Quotas = {
  keysPerUser: 5,
  workspacesPerUser: 4,
  membershipsPerUser: 100,
  membersPerWorkspace: 6,
  serviceAccountsPerWorkspace: 3,
  invitationsPerWorkspace: 10,
  webhooksPerWorkspace: 2,
  keyspacesPerWorkspace: 3,
  issuedKeysPerWorkspace: 4,
  invitationsPerHour: 10,
  keyChangesPerHour: 20,
  issuedSecretsPerHour: 1_000,
};

const newKeyspace = {
  name: "Production",
  prefix: "sk_live",
  environment: "",
  defaultLifetimeDays: null,
  defaultPermissions: [],
  defaultLimits: [],
  defaultCredits: null,
};

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas });
});
afterAll(() => app.close());

const attempts = 50;

/** Makes 50 concurrent attempts; returns the values of the successful ones and the errors of the others. */
async function attempt<Value>(make: (number: number) => Promise<Value>) {
  const outcomes = await Promise.allSettled(Array.from({ length: attempts }, (_, number) => make(number)));
  return {
    made: outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : [])),
    failures: outcomes.flatMap((outcome) =>
      outcome.status === "rejected" ? [outcome.reason as unknown] : [],
    ),
  };
}

function isQuotaExceeded(failure: unknown): boolean {
  return failure instanceof AppError && failure.issues?.[0]?.code === "quota_exceeded";
}

interface Reply {
  readonly status: number;
  readonly body: {
    readonly id: string;
    readonly key?: string;
    readonly error?: { readonly code: string; readonly message: string; readonly issues: readonly object[] };
  };
}

async function post(path: string, headers: Record<string, string>, body: object): Promise<Reply> {
  const response = await fetch(app.baseUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Reply["body"] };
}

/** Counts replies by status. */
function count(replies: readonly Pick<Reply, "status">[]): Partial<Record<number, number>> {
  const counts: Partial<Record<number, number>> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const addKey = (userId: UserId) =>
  app.services.db
    .transaction()
    .execute((trx) =>
      createKey(trx, { userId, name: "key", description: "", origin: commandOrigin }, quotas),
    );

const addWorkspace = (ownerId: UserId) =>
  app.services.db
    .transaction()
    .execute((trx) => createWorkspace(trx, { name: "Team", ownerId, origin: commandOrigin }, quotas));

test("50 concurrent requests of a user in the web app create exactly the quota of keys", async () => {
  const { email, userId } = await app.addUser();
  const { client, cookie } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { made } = await attempt(() => post("/trpc/apiKeys.create", { Cookie: cookie() }, { name: "key" }));
  expect(count(made)).toEqual({ 200: 5, 422: attempts - 5 });
  expect((await client.apiKeys.list.query({})).total).toBe(5);
  await expect(addKey(userId)).rejects.toMatchObject({
    message:
      "The quota for API keys per user (5) is reached. Delete a key that is no longer used, or ask the operator to raise MAX_KEYS_PER_USER.",
  });
  // Disabled keys count toward the quota, deleted keys don't.
  const [first, second] = (await client.apiKeys.list.query({})).items;
  await client.apiKeys.update.mutate({ id: first?.id ?? "", settings: { isDisabled: true } });
  await expect(addKey(userId)).rejects.toMatchObject({ code: "UNPROCESSABLE_CONTENT" });
  await client.apiKeys.delete.mutate({ id: second?.id ?? "" });
  await addKey(userId);
});

test("50 concurrent transactions create exactly the quota of keys, which is per user", async () => {
  const { userId } = await app.addUser();
  const other = await app.addUser();
  const { made, failures } = await attempt(() => addKey(userId));
  expect([made.length, failures.filter(isQuotaExceeded).length]).toEqual([5, attempts - 5]);
  await addKey(other.userId);
});

test("50 concurrent requests with one key create exactly the quota of workspaces", async () => {
  const { secret } = await app.addKey();
  const authorization = { Authorization: `Bearer ${secret}` };
  const create = (number: number) =>
    post(
      "/open/workspaces",
      { ...authorization, "Idempotency-Key": `team-${number}` },
      { name: `Team ${number}` },
    );
  const { made } = await attempt(create);
  // The user's first workspace counts toward the quota.
  expect(count(made)).toEqual({ 201: 3, 422: attempts - 3 });
  const message =
    "The quota for workspaces owned by one user (4) is reached. Delete a workspace that is no longer used, or ask the operator to raise MAX_WORKSPACES_PER_USER.";
  const error = {
    code: "UNPROCESSABLE_CONTENT",
    message,
    issues: [{ path: "", code: "quota_exceeded", message }],
  };
  const rejected = made.findIndex(({ status }) => status !== 201);
  expect(await create(rejected)).toMatchObject({ status: 422, body: { error } });
  const path = `/open/workspaces/${made.find(({ status }) => status === 201)?.body.id}`;
  const deletion = await fetch(app.baseUrl + path, { method: "DELETE", headers: authorization });
  expect(deletion.status).toBe(204);
  // Rejected requests are not recorded, so the same request succeeds after a workspace was deleted.
  expect((await create(rejected)).status).toBe(201);
});

test("50 concurrent transactions create exactly the quota of workspaces for an owner", async () => {
  const { userId } = await app.addUser();
  const { made, failures } = await attempt(() => addWorkspace(userId));
  expect([made.length, failures.filter(isQuotaExceeded).length]).toEqual([3, attempts - 3]);
});

test("concurrent creations of workspaces and promotions to owner give a user exactly the quota", async () => {
  const { userId } = await app.addUser();
  const owners = await Promise.all([0, 1].map(async () => (await app.addUser()).userId));
  const shared = await Promise.all([0, 1, 2, 3].map((index) => addWorkspace(owners[index % 2] as UserId))); // There are two.
  const { db } = app.services;
  const editOf = (id: WorkspaceId) => ({ scope: openAsOperator(id), origin: commandOrigin });
  for (const { id } of shared) {
    const member = { userId, role: "admin" } as const;
    await db.transaction().execute((trx) => addMember(trx, editOf(id), member, quotas));
  }
  const promote = (id: WorkspaceId) => {
    const change = { userId, role: "owner", versions: undefined } as const;
    return db.transaction().execute((trx) => changeMemberRole(trx, editOf(id), change, quotas));
  };
  const outcomes = await Promise.allSettled([
    ...shared.map(({ id }) => promote(id)),
    ...shared.map(() => addWorkspace(userId)),
  ]);
  const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  // The user also has the workspace that was created with the account.
  expect([outcomes.length - failures.length, failures.filter(isQuotaExceeded).length]).toEqual([3, 5]);
  const rejected = shared.findIndex((_, index) => outcomes[index]?.status === "rejected");
  const { secret } = await app.addKey(owners[rejected % 2]);
  const id = encodeId("workspace", shared[rejected]?.id as WorkspaceId); // One of four must have been rejected.
  const path = `/open/workspaces/${id}/members/${encodeId("user", userId)}`;
  const response = await fetch(app.baseUrl + path, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    body: JSON.stringify({ role: "owner" }),
  });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({
    error: { code: "UNPROCESSABLE_CONTENT", issues: [{ code: "quota_exceeded" }] },
  });
  // Adding the user as an owner exceeds the quota too. Other roles don't count.
  const workspace = await addWorkspace(owners[0] as UserId); // There are two owners.
  const add = (role: "owner" | "admin") =>
    db.transaction().execute((trx) => addMember(trx, editOf(workspace.id), { userId, role }, quotas));
  await expect(add("owner")).rejects.toSatisfy(isQuotaExceeded);
  expect(await add("admin")).toMatchObject({ role: "admin" });
});

test("concurrent creations, additions and accepted invitations give a user exactly the quota of memberships", async () => {
  const limited = await startTestApp({ quotas: { membershipsPerUser: 3 } });
  try {
    const { db, quotas: limits } = limited.services;
    const { email, userId } = await limited.addUser(); // With a first workspace.
    const { client } = openClient(limited.baseUrl);
    await client.session.signIn.mutate({ email, password });
    const invite = async () => {
      const inviter = await limited.addUser();
      const { client: inviting } = openClient(limited.baseUrl);
      await inviting.session.signIn.mutate({ email: inviter.email, password });
      const workspaceId = (await inviting.session.current.query())?.workspaces[0]?.id ?? "";
      const { url } = await inviting.invitations.create.mutate({ workspaceId, email, role: "viewer" });
      return String(url).split("#")[1] ?? "";
    };
    const tokens = [await invite(), await invite(), await invite()];
    const others = await Promise.all(
      [1, 2, 3].map(async (number) => {
        const { userId: ownerId } = await limited.addUser();
        const fields = { name: `Other ${number}`, ownerId, origin: commandOrigin };
        return await db.transaction().execute((trx) => createWorkspace(trx, fields, limits));
      }),
    );
    const outcomes = await Promise.allSettled([
      ...tokens.map((token) => client.invitations.accept.mutate({ token })),
      ...others.map(({ id }) => {
        const edit = { scope: openAsOperator(id), origin: commandOrigin };
        return db.transaction().execute((trx) => addMember(trx, edit, { userId, role: "viewer" }, limits));
      }),
      ...[1, 2, 3].map((number) => client.workspaces.create.mutate({ name: `Own ${number}` })),
    ]);
    const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(failures).toHaveLength(outcomes.length - 2);
    const message =
      "The quota for workspaces that one user is a member of (3) is reached. Leave a workspace, or ask the operator to raise MAX_MEMBERSHIPS_PER_USER.";
    for (const failure of failures) expect(failure.message).toBe(message);

    // An invitation that was rejected stays valid.
    const rejected = tokens.find((_, index) => outcomes[index]?.status === "rejected") ?? "";
    await sql`
      delete from members where (workspace_id, user_id) in (
        select workspace_id, user_id from members where user_id = ${userId} order by created_at desc limit 1
      )`.execute(limited.owner);
    expect(await client.invitations.accept.mutate({ token: rejected })).toMatchObject({ role: "viewer" });
  } finally {
    await limited.close();
  }
});

test("a session has all workspaces of its user if the quota of memberships is above 200", async () => {
  const limited = await startTestApp({ quotas: { membershipsPerUser: 210 } });
  try {
    const { email, userId } = await limited.addUser(); // With a first workspace.
    await sql`
      with added as (
        insert into workspaces (id, name, slug)
        select gen_random_uuid(), 'Team ' || number, 'team-' || number from generate_series(2, 210) number
        returning id)
      insert into members (workspace_id, user_id, role) select id, ${userId}, 'viewer' from added`.execute(
      limited.owner,
    );
    const { client } = openClient(limited.baseUrl);
    await client.session.signIn.mutate({ email, password });
    expect((await client.session.current.query())?.workspaces).toHaveLength(210);
  } finally {
    await limited.close();
  }
});

test("50 concurrent additions to a workspace add exactly the quota of members", async () => {
  const { userId: ownerId } = await app.addUser();
  const workspace = await addWorkspace(ownerId);
  const edit = { scope: openAsOperator(workspace.id), origin: commandOrigin };
  const users: UserId[] = [];
  for (let count = 0; count < attempts; count += 1) users.push((await app.addUser()).userId);
  const add = (userId: UserId) =>
    app.services.db
      .transaction()
      .execute((trx) => addMember(trx, edit, { userId, role: "viewer" }, quotas))
      .then(() => userId);
  const { made, failures } = await attempt((number) => add(users[number] as UserId)); // One per attempt.
  expect([made.length, failures.filter(isQuotaExceeded).length]).toEqual([5, attempts - 5]);
  // For an existing member, the error is CONFLICT rather than the quota.
  await expect(add(made[0] as UserId)).rejects.toMatchObject({ code: "CONFLICT" });
  const { db } = app.services;
  await db.transaction().execute((trx) => removeMember(trx, edit, { userId: made[0] as UserId }));
  await add(made[0] as UserId);
  await db.transaction().execute((trx) => remove(trx, edit));
});

test.each(noticedQuotas)("gives one notice to an owner when nine tenths of %s are used", async (quota) => {
  const { email, userId } = await app.addUser(); // With a first workspace.
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const workspaceId = (await client.session.current.query())?.workspaces[0]?.id ?? "";
  const edit = {
    scope: openAsOperator(decodeId("workspace", workspaceId) as WorkspaceId),
    origin: commandOrigin,
  };
  let keyspaceId = "" as KeyspaceId; // Set by the first of the keys.
  const add: Readonly<Record<typeof quota, (number: number) => Promise<unknown>>> = {
    keysPerUser: () => addKey(userId),
    workspacesPerUser: () => addWorkspace(userId),
    membersPerWorkspace: async () => {
      const member = { userId: (await app.addUser()).userId, role: "viewer" } as const;
      await app.services.db.transaction().execute((trx) => addMember(trx, edit, member, quotas));
    },
    serviceAccountsPerWorkspace: (number) =>
      client.serviceAccounts.create.mutate({ workspaceId, name: `Account ${number}`, role: "viewer" }),
    invitationsPerWorkspace: (number) =>
      client.invitations.create.mutate({ workspaceId, email: `${number}-${email}`, role: "viewer" }),
    webhooksPerWorkspace: () =>
      client.webhooks.create.mutate({ workspaceId, url: "https://example.com/hook" }),
    keyspacesPerWorkspace: () =>
      app.services.db.transaction().execute((trx) => createKeyspace(trx, edit, newKeyspace, quotas)),
    issuedKeysPerWorkspace: async (number) => {
      await app.services.db.transaction().execute(async (trx) => {
        if (number === 1) ({ id: keyspaceId } = await createKeyspace(trx, edit, newKeyspace, quotas));
        await createIssuedKey(trx, edit, { keyspaceId }, quotas);
      });
    },
  };
  const readNotices = async () =>
    (await client.notices.list.query({})).items.filter(({ kind }) => kind === "quota-nearly-reached");
  const used = quota === "workspacesPerUser" || quota === "membersPerWorkspace" ? 1 : 0;
  for (let count = used + 1; count <= quotas[quota]; count += 1) {
    const isNearlyReached = count * 10 >= quotas[quota] * 9;
    await add[quota](count);
    expect(await readNotices()).toHaveLength(isNearlyReached ? 1 : 0);
  }
  const [notice] = await readNotices();
  const subject = describeQuota[quota];
  expect(notice?.title).toBe(`Quota for ${subject.what} nearly reached`);
  expect(notice?.workspaceId).toBe(quota.endsWith("PerWorkspace") ? workspaceId : null);
  expect(notice?.link?.to).toBe(subject.page);
});

/** What the notice of each quota names and links to. */
const describeQuota = {
  keysPerUser: { what: "API keys", page: "keys" },
  workspacesPerUser: { what: "workspaces", page: undefined },
  membersPerWorkspace: { what: "members", page: "members" },
  serviceAccountsPerWorkspace: { what: "service accounts", page: "service-accounts" },
  invitationsPerWorkspace: { what: "invitations", page: "invitations" },
  webhooksPerWorkspace: { what: "webhooks", page: "webhooks" },
  keyspacesPerWorkspace: { what: "keyspaces", page: "workspace" },
  issuedKeysPerWorkspace: { what: "issued keys", page: "workspace" },
} as const;

test("50 concurrent changes make exactly the allowed changes to keys per hour, and access can still be reduced", async () => {
  const { email, userId } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { id, key: secret } = await client.apiKeys.create.mutate({ name: "CI" });
  const { id: leaked } = await client.apiKeys.create.mutate({ name: "Leaked" });
  const change = (body: object) =>
    fetch(`${app.baseUrl}/open/api-keys/${id}`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  const rotate = async () => {
    const headers = { Authorization: `Bearer ${secret}`, "Idempotency-Key": "rotation" };
    return await post(`/open/api-keys/${leaked}/rotate`, headers, {});
  };
  const rotation = await rotate();
  expect(rotation.status).toBe(200);
  // Changes by the operator neither count nor are limited.
  const operatorEdit = { userId, id: decodeId("key", leaked) as KeyId, origin: commandOrigin }; // A key has this ID.
  const rename = (name: string) =>
    app.services.db
      .transaction()
      .execute((trx) => updateKey(trx, operatorEdit, { name, mayExpand: false }, quotas));
  for (let count = 1; count <= 21; count += 1) await rename(`Leaked ${count}`);
  const { made } = await attempt((number) => change({ name: `CI ${number}` }));
  // With the creation of two keys and one rotation, there are 20.
  const { rows } = await sql<{ changes: number }>`select count(*)::int as changes from security_events
    where user_id = ${userId} and actor_kind <> 'command' and key_id is not null`.execute(app.owner);
  expect(rows).toEqual([{ changes: 20 }]);
  expect(count(made)).toEqual({ 200: 17, 429: attempts - 17 });
  const rejected = await change({ isReadOnly: true });
  const retryAfter = Number(rejected.headers.get("Retry-After"));
  expect(retryAfter).toBeGreaterThan(3_000);
  expect(retryAfter).toBeLessThanOrEqual(3_600);
  expect(await rejected.json()).toMatchObject({
    error: {
      code: "TOO_MANY_REQUESTS",
      message: `You have reached the limit of 20 changes to API keys per hour. Try again in ${Math.ceil(retryAfter / 60)} minutes. You can still disable and delete keys, and revoke old secrets.`,
    },
  });
  for (const send of [
    () => client.apiKeys.create.mutate({ name: "More" }),
    () => client.apiKeys.rotate.mutate({ id: leaked, overlapSeconds: 0 }),
    () => client.apiKeys.update.mutate({ id: leaked, name: "Other", settings: { isDisabled: true } }),
  ])
    await expect(send()).rejects.toMatchObject({ data: { code: "TOO_MANY_REQUESTS" } });
  // Until the new secret is used, a retry issues another one, so it counts.
  expect((await rotate()).status).toBe(429);
  const headers = { Authorization: `Bearer ${rotation.body.key}` };
  const used = await fetch(`${app.baseUrl}/open/me`, { headers });
  expect(used.status).toBe(200);
  expect((await rotate()).status).toBe(200);
  await rename("By the operator");
  // A description is in no event.
  expect((await change({ description: "Deploys" })).status).toBe(200);
  await client.apiKeys.revokeOldSecrets.mutate({ id: leaked });
  await client.apiKeys.update.mutate({ id: leaked, settings: { isDisabled: true } });
  await expect(
    client.apiKeys.update.mutate({ id: leaked, settings: { isDisabled: false }, mayExpand: true }),
  ).rejects.toMatchObject({ data: { code: "TOO_MANY_REQUESTS" } });
  await client.apiKeys.delete.mutate({ id: leaked });
  // An hour later, changes are possible again, one for each that is older than an hour.
  const age = (count: number) =>
    sql`update security_events set occurred_at = occurred_at - interval '1 hour' where id in
      (select id from security_events where user_id = ${userId} and actor_kind <> 'command' and key_id is not null
      order by occurred_at limit ${count})`.execute(app.owner);
  await age(3 + 4); // Three changes weren't limited.
  const replies = [];
  for (const name of ["a", "b", "c", "d", "e"]) replies.push((await change({ name })).status);
  expect(replies).toEqual([200, 200, 200, 200, 429]);
});

import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { deleteServiceAccountNotices } from "./delete-notices.ts";
import { createId, type UserId } from "./ids.ts";
import { recordEmailSetting } from "./instance-settings.ts";
import { rememberDevice } from "./known-devices.ts";
import { deleteMember } from "./members.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { findNotices } from "./notice-sources.ts";
import { addMissingEmailJobs, addNotices, claimNotice, releaseNotice } from "./notices.ts";
import { Purger } from "./purger.ts";
import type { Db } from "./schema.ts";
import { openTestPool } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { lockWorkspace } from "./workspace-locks.ts";
import { inWorkspace } from "./workspace-scope.ts";

let database: TestDatabase;
/** The pools of two nodes. */
let nodes: readonly [Db, Db];
let userId: UserId;

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  const open = () =>
    openTestPool(database.connection, {
      applicationName: "node",
      role: "latchkey_tenant",
      maxConnections: 5,
    });
  nodes = [open(), open()];
});
afterAll(async () => {
  for (const node of nodes) await node.destroy();
  await database.drop();
});
beforeEach(async () => {
  userId = createId("user");
  await sql`
    insert into users (id, email, name, email_verified) values (${userId}, ${userId}, 'Ada', true)`.execute(
    database.owner,
  );
});

const notice = () =>
  ({ kind: "new-device", userId, subject: "Chrome", facts: { device: "Chrome", address: null } }) as const;

async function countNotices(): Promise<number> {
  return (await sql`select from notices where user_id = ${userId}`.execute(database.owner)).rows.length;
}

/** Runs `work` ten times at the same time, on both nodes. */
async function race<Result>(work: (db: Db) => Promise<Result>): Promise<Result[]> {
  return await Promise.all(Array.from({ length: 10 }, (_, index) => work(nodes[index % 2 === 0 ? 0 : 1])));
}

test("a notice about the same subject is created once", async () => {
  await race((db) => db.transaction().execute((trx) => addNotices(trx, [notice()])));
  expect(await countNotices()).toBe(1);
});

test("a notice is not created for a service account", async () => {
  await sql`insert into workspaces (id, name, slug) values (${userId}, 'Ours', ${userId})`.execute(
    database.owner,
  );
  const accountId = createId("user");
  await sql`
    insert into users (id, email, name, service_workspace_id)
    values (${accountId}, ${accountId}, 'Deploys', ${userId})`.execute(database.owner);
  const add = { ...notice(), userId: accountId };
  await nodes[0].transaction().execute((trx) => addNotices(trx, [add]));
  const { rows } = await sql`select from notices where user_id = ${accountId}`.execute(database.owner);
  expect(rows).toEqual([]);
});

test("jobs that find notices at the same time create each notice once", async () => {
  for (let index = 0; index < 5; index += 1) {
    await sql`
      insert into api_keys (id, user_id, name, description, start, hash, created_at, expires_at)
      values (${createId("key")}, ${userId}, 'Key', '', 'lk_', sha256(${`${userId} ${index}`}::bytea),
        now() - interval '10 days', now() + interval '3 days')`.execute(database.owner);
  }
  await race(findNotices);
  expect(await countNotices()).toBe(5);
});

test("notices about a key of a service account go to the owners and admins of its workspace, once each", async () => {
  const workspaceId = createId("workspace");
  const [adminId, memberId, otherId, accountId] = Array.from({ length: 4 }, () => createId("user"));
  const [keyId, otherWorkspaceId] = [createId("key"), createId("workspace")];
  for (const [id, name] of [
    [workspaceId, "Ours"],
    [otherWorkspaceId, "Theirs"],
  ])
    await sql`insert into workspaces (id, name, slug) values (${id}, ${name}, ${id})`.execute(database.owner);
  for (const id of [adminId, memberId, otherId])
    await sql`insert into users (id, email, name) values (${id}, ${id}, 'Grace')`.execute(database.owner);
  await sql`
    insert into users (id, email, name, service_workspace_id)
    values (${accountId}, ${accountId}, 'Deploys', ${workspaceId})`.execute(database.owner);
  await sql`
    insert into members (workspace_id, user_id, role) values
      (${workspaceId}, ${userId}, 'owner'), (${workspaceId}, ${adminId}, 'admin'),
      (${workspaceId}, ${memberId}, 'member'), (${workspaceId}, ${accountId}, 'admin'),
      (${otherWorkspaceId}, ${otherId}, 'owner')`.execute(database.owner);
  await sql`
    insert into api_keys (id, user_id, name, description, start, hash, created_at, expires_at)
    values (${keyId}, ${accountId}, 'CI', '', 'lk_', sha256(${keyId}::text::bytea),
      now() - interval '10 days', now() + interval '3 days')`.execute(database.owner);
  await sql`
    insert into retired_secrets (hash, key_id, start, good_until, refused_at, refused_address)
    values (sha256(${accountId}::text::bytea), ${keyId}, 'lk_', now() - interval '1 hour', now(), '192.0.2.1')`.execute(
    database.owner,
  );
  await sql`
    insert into key_networks (key_id, network, first_seen_at, last_seen_at) values
      (${keyId}, '192.0.2.0/24', now() - interval '1 day', now()), (${keyId}, '198.51.100.0/24', now(), now())`.execute(
    database.owner,
  );
  await race(findNotices);
  await findNotices(nodes[0]);
  const { rows } = await sql<{ userId: string; kind: string }>`
    select user_id as "userId", kind, facts ->> 'keyName' as key, facts -> 'serviceAccount' ->> 'name' as account,
      facts ->> 'workspaceId' as "workspaceId"
    from notices where facts ->> 'keyId' = ${keyId} order by kind`.execute(database.owner);
  const about = { key: "CI", account: "Deploys", workspaceId };
  const kinds = ["former-secret-used", "key-expires-in-7-days", "new-network"];
  for (const manager of [userId, adminId])
    expect(rows.filter((row) => row.userId === manager)).toEqual(
      kinds.map((kind) => ({ userId: manager, kind, ...about })),
    );
  expect(rows).toHaveLength(6);
});

test("at most 20 people get a notice about a key of a service account, owners first", async () => {
  const [workspaceId, keyId, accountId] = [createId("workspace"), createId("key"), createId("user")];
  const admins = Array.from({ length: 25 }, () => createId("user"));
  const ownerId = createId("user"); // Its ID is later than those of the admins.
  await sql`insert into workspaces (id, name, slug) values (${workspaceId}, 'Large', ${workspaceId})`.execute(
    database.owner,
  );
  for (const id of [...admins, ownerId]) {
    await sql`insert into users (id, email, name) values (${id}, ${id}, 'Grace')`.execute(database.owner);
    await sql`
      insert into members (workspace_id, user_id, role)
      values (${workspaceId}, ${id}, ${id === ownerId ? "owner" : "admin"})`.execute(database.owner);
  }
  await sql`
    insert into users (id, email, name, service_workspace_id)
    values (${accountId}, ${accountId}, 'Deploys', ${workspaceId})`.execute(database.owner);
  await sql`
    insert into api_keys (id, user_id, name, description, start, hash, created_at, expires_at)
    values (${keyId}, ${accountId}, 'CI', '', 'lk_', sha256(${keyId}::text::bytea),
      now() - interval '10 days', now() + interval '3 days')`.execute(database.owner);
  await findNotices(nodes[0]);
  const { rows } = await sql<{ userId: string }>`
    select user_id as "userId" from notices where facts ->> 'keyId' = ${keyId}`.execute(database.owner);
  expect(rows).toHaveLength(20);
  expect(rows).toContainEqual({ userId: ownerId });
});

test("a manager who is removed concurrently gets no notice about a key of a service account", async () => {
  const [workspaceId, keyId, accountId] = [createId("workspace"), createId("key"), createId("user")];
  const adminId = createId("user");
  await sql`insert into workspaces (id, name, slug) values (${workspaceId}, 'Ours', ${workspaceId})`.execute(
    database.owner,
  );
  await sql`insert into users (id, email, name) values (${adminId}, ${adminId}, 'Grace')`.execute(
    database.owner,
  );
  await sql`
    insert into users (id, email, name, service_workspace_id)
    values (${accountId}, ${accountId}, 'Deploys', ${workspaceId})`.execute(database.owner);
  await sql`
    insert into members (workspace_id, user_id, role)
    values (${workspaceId}, ${userId}, 'owner'), (${workspaceId}, ${adminId}, 'admin')`.execute(
    database.owner,
  );
  await sql`
    insert into api_keys (id, user_id, name, description, start, hash, created_at, expires_at)
    values (${keyId}, ${accountId}, 'CI', '', 'lk_', sha256(${keyId}::text::bytea),
      now() - interval '10 days', now() + interval '3 days')`.execute(database.owner);
  const scope = mintWorkspaceScope(workspaceId);
  await sql`
    insert into key_networks (key_id, network, first_seen_at, last_seen_at) values
      (${keyId}, '192.0.2.0/24', now() - interval '1 day', now()), (${keyId}, '198.51.100.0/24', now(), now())`.execute(
    database.owner,
  );
  await inWorkspace(nodes[0], scope, async (trx) => {
    await lockWorkspace(trx, scope);
    await deleteMember(trx, scope, { userId: adminId });
    await deleteServiceAccountNotices(trx, adminId, workspaceId);
    // Doesn't wait for the lock.
    await findNotices(nodes[1]);
  });
  await findNotices(nodes[1]);
  const { rows } = await sql<{ userId: string }>`
    select user_id as "userId" from notices where facts ->> 'keyId' = ${keyId}`.execute(database.owner);
  expect(rows).toEqual([{ userId }, { userId }]);
});

test("keys of a workspace that is being changed fill only one step of a run", async () => {
  const [workspaceId, accountId] = [createId("workspace"), createId("user")];
  await sql`insert into workspaces (id, name, slug) values (${workspaceId}, 'Busy', ${workspaceId})`.execute(
    database.owner,
  );
  await sql`
    insert into users (id, email, name, service_workspace_id)
    values (${accountId}, ${accountId}, 'Deploys', ${workspaceId})`.execute(database.owner);
  await sql`insert into members (workspace_id, user_id, role) values (${workspaceId}, ${userId}, 'owner')`.execute(
    database.owner,
  );
  /** Adds keys that expire, were used from a second network, and have an old secret that was rejected. */
  const addKeys = async (owner: UserId, { count, expiresIn }: { count: number; expiresIn: string }) => {
    await sql`
      insert into api_keys (id, user_id, name, description, start, hash, created_at, expires_at)
      select gen_random_uuid(), ${owner}, 'CI', '', 'lk_', sha256(gen_random_uuid()::text::bytea),
        now() - interval '10 days', now() + ${expiresIn}::interval from generate_series(1, ${count})`.execute(
      database.owner,
    );
    await sql`
      insert into retired_secrets (hash, key_id, start, good_until, refused_at)
      select sha256(id::text::bytea), id, 'lk_', now() - interval '1 hour', now()
      from api_keys where user_id = ${owner}`.execute(database.owner);
    await sql`
      insert into key_networks (key_id, network, first_seen_at, last_seen_at)
      select id, network, clock_timestamp(), now()
      from api_keys cross join unnest(array['192.0.2.0/24', '198.51.100.0/24']) as network
      where user_id = ${owner}`.execute(database.owner);
  };
  await addKeys(accountId, { count: 600, expiresIn: "2 days" });
  const otherId = createId("user");
  await sql`insert into users (id, email, name) values (${otherId}, ${otherId}, 'Grace')`.execute(
    database.owner,
  );
  await addKeys(otherId, { count: 1, expiresIn: "3 days" });
  const scope = mintWorkspaceScope(workspaceId);
  await inWorkspace(nodes[0], scope, async (trx) => {
    await lockWorkspace(trx, scope);
    await findNotices(nodes[1]);
  });
  const { rows } = await sql<{ kind: string }>`
    select kind from notices where user_id = ${otherId} order by kind`.execute(database.owner);
  expect(rows.map(({ kind }) => kind)).toEqual([
    "former-secret-used",
    "key-expires-in-7-days",
    "new-network",
  ]);
  expect(await countNotices()).toBe(0);
  await findNotices(nodes[1]);
  expect(await countNotices()).toBe(3 * 600);
});

test("a source of notices that fails doesn't prevent the others", async () => {
  const keyId = createId("key");
  await sql`
    insert into api_keys (id, user_id, name, description, start, hash)
    values (${keyId}, ${userId}, 'Key', '', 'lk_', sha256(${keyId}::text::bytea))`.execute(database.owner);
  await sql`
    insert into key_networks (key_id, network, first_seen_at, last_seen_at) values
      (${keyId}, '192.0.2.0/24', now() - interval '1 day', now()), (${keyId}, '198.51.100.0/24', now(), now())`.execute(
    database.owner,
  );
  await sql`alter table retired_secrets rename to missing`.execute(database.owner);
  await expect(findNotices(nodes[0])).rejects.toThrow("Some notices could not be created.");
  await sql`alter table missing rename to retired_secrets`.execute(database.owner);
  expect(await countNotices()).toBe(1);
});

test("one of several jobs claims a notice, and a failed one releases it", async () => {
  await nodes[0].transaction().execute((trx) => addNotices(trx, [notice()]));
  const claims = (await race((db) => claimNotice(db, userId))).filter((claim) => claim !== undefined);
  expect(claims).toHaveLength(1);
  const [claim] = claims;
  if (!claim) throw new Error("No notice was claimed.");
  await releaseNotice(nodes[0], claim.notice.id, "failed");
  expect(await claimNotice(nodes[1], userId)).toMatchObject({ notice: { id: claim.notice.id } });
  await releaseNotice(nodes[1], claim.notice.id, "sent");
  expect(await claimNotice(nodes[0], userId)).toBeUndefined();
});

test("a notice whose email failed is claimed again after the others", async () => {
  for (const subject of ["first", "second"])
    await nodes[0].transaction().execute((trx) => addNotices(trx, [{ ...notice(), subject }]));
  const claim = async (outcome: "sent" | "failed") => {
    const claimed = await claimNotice(nodes[0], userId);
    if (claimed) await releaseNotice(nodes[0], claimed.notice.id, outcome);
    return claimed?.notice.id;
  };
  const first = await claim("failed");
  expect(first).toBeDefined();
  expect(await claim("sent")).not.toBe(first);
  expect(await claim("failed")).toBe(first);
  expect(await claim("sent")).toBe(first);
  expect(await claim("sent")).toBeUndefined();
});

describe("a notice that no job would email", () => {
  const key = () => `notices ${userId}`;
  const readJobs = async () =>
    (await sql`select attempts from graphile_worker.jobs where key = ${key()}`.execute(database.owner)).rows;

  /** As after a job that claimed the notice and was then replaced by another one, which has ended. */
  async function addClaimedNotice() {
    await nodes[0].transaction().execute((trx) => addNotices(trx, [notice()]));
    await sql`select graphile_worker.remove_job(${key()})`.execute(database.owner);
    const claimed = await claimNotice(nodes[0], userId);
    if (!claimed) throw new Error("No notice was claimed.");
    return claimed.notice.id;
  }

  test("gets a job after the first one has failed, and not while it runs", async () => {
    const id = await addClaimedNotice();
    await findNotices(nodes[0]);
    expect(await readJobs()).toEqual([]);
    await releaseNotice(nodes[0], id, "failed");
    await race(findNotices);
    expect(await readJobs()).toEqual([{ attempts: 0 }]);
  });

  test("gets a job after the claim of a node that was killed has ended", async () => {
    await addClaimedNotice();
    await sql`update notices set email_claimed_until = email_claimed_until - interval '3 minutes'`.execute(
      database.owner,
    );
    await findNotices(nodes[0]);
    expect(await readJobs()).toEqual([{ attempts: 0 }]);
  });

  test("gets no job after a day, or if it has one, which keeps its number of attempts", async () => {
    const id = await addClaimedNotice();
    await releaseNotice(nodes[0], id, "failed");
    await sql`update notices set created_at = now() - interval '25 hours'`.execute(database.owner);
    expect(await addMissingEmailJobs(nodes[0], 10)).toBe(0);
    await nodes[0].transaction().execute((trx) => addNotices(trx, [{ ...notice(), subject: "other" }]));
    for (const attempts of [3, 11]) {
      await sql`update graphile_worker._private_jobs set attempts = ${attempts} where key = ${key()}`.execute(
        database.owner,
      );
      expect(await addMissingEmailJobs(nodes[0], 10)).toBe(0);
      expect(await readJobs()).toEqual([{ attempts }]);
    }
  });
});

test("the claim of a node that was killed ends after three minutes", async () => {
  await nodes[0].transaction().execute((trx) => addNotices(trx, [notice()]));
  await claimNotice(nodes[0], userId);
  await sql`update notices set email_claimed_until = email_claimed_until - interval '3 minutes'`.execute(
    database.owner,
  );
  expect(await claimNotice(nodes[1], userId)).toBeDefined();
});

test("a notice that is older than a day is not emailed", async () => {
  await nodes[0].transaction().execute((trx) => addNotices(trx, [notice()]));
  await sql`update notices set created_at = now() - interval '25 hours'`.execute(database.owner);
  expect(await claimNotice(nodes[0], userId)).toBeUndefined();
});

test("without an SMTP server, a notice adds no job and is not emailed later, and emails that were due are discarded", async () => {
  const countJobs = async () =>
    (await sql`select from graphile_worker.jobs where key = ${`notices ${userId}`}`.execute(database.owner))
      .rows.length;
  const add = (subject: string) =>
    nodes[0].transaction().execute((trx) => addNotices(trx, [{ ...notice(), subject }]));
  await add("before a node has started");
  expect(await countJobs()).toBe(1);
  await recordEmailSetting(database.connection, false);
  await add("without a server");
  expect(await countJobs()).toBe(0);
  expect(await countNotices()).toBe(2);
  await recordEmailSetting(database.connection, true);
  expect(await claimNotice(nodes[0], userId)).toBeUndefined();
  await add("with a server");
  expect(await countJobs()).toBe(1);
  await recordEmailSetting(database.connection, true);
  expect(await countJobs()).toBe(1);
  expect(await claimNotice(nodes[0], userId)).toBeDefined();
});

test("of concurrent sign-ins from two devices, the second one is from a new device", async () => {
  const results = await Promise.all(
    ["Chrome", "Firefox", "Chrome", "Firefox"].map((device, index) =>
      nodes[index % 2 === 0 ? 0 : 1].transaction().execute((trx) => rememberDevice(trx, userId, device)),
    ),
  );
  expect(results.filter(Boolean)).toHaveLength(1);
});

test("at most 50 devices of a user are remembered", async () => {
  for (let index = 0; index < 60; index += 1) {
    await nodes[0].transaction().execute((trx) => rememberDevice(trx, userId, `Device ${index}`));
  }
  const { rows } = await sql`select from known_devices where user_id = ${userId}`.execute(database.owner);
  expect(rows).toHaveLength(50);
});

test("notices are deleted after 90 days, networks 90 days and devices 180 days after their last use", async () => {
  await sql`truncate notices, known_devices, key_networks`.execute(database.owner);
  for (const days of [89, 90]) {
    await sql`
      insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due, created_at)
      values (gen_random_uuid(), ${userId}, 'new-device', ${String(days)}, '{}', true, false,
        now() - make_interval(days => ${days}))`.execute(database.owner);
    await sql`
      insert into key_networks (key_id, network, first_seen_at, last_seen_at)
      values (gen_random_uuid(), '192.0.2.0/24', now(), now() - make_interval(days => ${days}))`.execute(
      database.owner,
    );
    await sql`
      insert into known_devices (user_id, device, last_used_at)
      values (${userId}, ${String(days)}, now() - make_interval(days => 2 * ${days}))`.execute(
      database.owner,
    );
  }
  const purger = new Purger({ connection: database.connection });
  await purger.run();
  await purger.close();
  const { rows } = await sql`
    select (select count(*) from notices) as notices, (select count(*) from key_networks) as networks,
      (select count(*) from known_devices) as devices`.execute(database.owner);
  expect(rows).toEqual([{ notices: 1, networks: 1, devices: 1 }]);
});

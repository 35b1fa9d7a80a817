import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, signUp } from "../support/account.ts";
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { authSecret, type ProductNode, type Variables } from "../support/product.ts";

// A database whose user is no superuser, as those who run Postgres for others hand them out.

const password = "a password for tests";
let place: Place;
let cluster: TestCluster;
let superuser: pg.Client;

beforeAll(async () => {
  [place, cluster] = await Promise.all([createPlace(), startTestCluster()]);
  superuser = new pg.Client({ ...cluster.connection, database: "postgres" });
  await superuser.connect();
});

afterAll(async () => {
  await superuser?.end();
  await place?.close();
  await cluster?.stop();
});

/** Makes a user with these attributes, and a database that the user owns. */
async function addOwner(name: string, attributes: string): Promise<Variables> {
  await superuser.query(`create role ${name} login ${attributes} password '${password}'`);
  await createDatabase(cluster.connection, name);
  await superuser.query(`alter database ${name} owner to ${name}`);
  const host = encodeURIComponent(cluster.connection.host);
  return {
    DATABASE_URL: `postgres://${name}:${encodeURIComponent(password)}@${host}/${name}`,
    AUTH_SECRET: authSecret,
  };
}

async function expectInUse(node: ProductNode): Promise<void> {
  const account = await signUp(node.baseUrl);
  const { key } = await createKey(node.baseUrl, account, "first");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  expect((await callOpen(node.baseUrl, key, "/open/workspaces")).status).toBe(200);
}

test("who may not make roles is told what a superuser must run, and that is enough", async () => {
  const variables = await addOwner("plain", "");
  const refused = await place.run(variables);
  expect(refused.status).toBe(1);
  const advice = /Have a superuser run, once: (.*;) \(a role/.exec(refused.stderr)?.[1];
  expect(advice).toBe(
    'create role latchkey_tenant nologin; create role latchkey_admission nologin; grant latchkey_tenant, latchkey_admission to "plain";',
  );
  expect(refused.stderr).toContain('The database user "plain" can\'t assume');
  expect(refused.stderr).not.toContain(password);
  expect(refused.stderr).not.toContain("    at ");
  await superuser.query(advice ?? "");
  await expectInUse(await place.start(variables));
});

test("roles that another database's owner has made are used, once they are granted", async () => {
  const variables = await addOwner("newcomer", "createrole");
  const refused = await place.run(variables);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain('grant latchkey_tenant, latchkey_admission to "newcomer";');
  await superuser.query("grant latchkey_tenant, latchkey_admission to newcomer");
  await expectInUse(await place.start(variables));
});

test("an owner that may create roles needs nothing from anybody, and is under the wall itself", async () => {
  const other = await startTestCluster();
  try {
    const admin = new pg.Client({ ...other.connection, database: "postgres" });
    await admin.connect();
    await admin.query(`create role maker login createrole password '${password}'`);
    await admin.query("create database maker owner maker");
    await admin.end();
    const host = encodeURIComponent(other.connection.host);
    const url = `postgres://maker:${encodeURIComponent(password)}@${host}/maker`;
    const node = await place.start({ DATABASE_URL: url, AUTH_SECRET: authSecret });
    await expectInUse(node);
    const owner = new pg.Client({ ...other.connection, user: "maker", password, database: "maker" });
    await owner.connect();
    try {
      expect((await owner.query("select current_user::text as name")).rows).toEqual([{ name: "maker" }]);
      for (const table of ["workspaces", "members", "audit_events"])
        await expect(owner.query(`select from ${table}`), table).rejects.toThrow(
          "row-level security hides the rows of tenants from the owner of the database",
        );
    } finally {
      await owner.end();
    }
    expect(await node.stop()).toBe(0);
  } finally {
    await other.stop();
  }
});

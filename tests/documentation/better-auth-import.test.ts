import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { apiKey } from "@better-auth/api-key";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { callApi, createKeyspace, type Keyspace, pathOf } from "../support/keyspace.ts";
import { connectionTo } from "../support/postmaster.ts";
import { projectRoot } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";

// The SQL in docs/keyspaces.md exports keys of better-auth, which `latchkey import keys` reads.

let instance: TestInstance;
let keyspace: Keyspace;

beforeAll(async () => {
  instance = await createTestInstance();
  const { baseUrl } = await instance.startInProcess();
  keyspace = await createKeyspace(baseUrl, await signUp(baseUrl));
  // Keys without a value of their own must not get these.
  const defaults = { defaultLifetimeDays: 30, defaultCredits: { remaining: 7 } };
  await callApi(keyspace, ["PATCH", pathOf(keyspace)], defaults);
});
afterAll(() => instance?.close());

/** Creates keys with better-auth, in a database of its own. @returns the keys by name, and the exported rows. */
async function exportKeys() {
  const connection = await connectionTo(instance.cluster);
  const client = await open(connection);
  await client.query("create database better_auth").finally(() => client.end());
  const database = new pg.Pool({ ...connection, database: "better_auth", options: "-c timezone=Asia/Tokyo" });
  const auth = betterAuth({
    ...{ database, baseURL: "http://127.0.0.1", secret: "a secret for a test, which is no secret at all" },
    ...{ logger: { disabled: true }, telemetry: { enabled: false }, emailAndPassword: { enabled: true } },
    plugins: [apiKey()],
  });
  try {
    await (await getMigrations(auth.options)).runMigrations();
    // better-auth deletes expired keys in the background, so the expired one could be missing.
    await database.query("create rule keep_keys as on delete to apikey do instead nothing");
    const { user } = await auth.api.signUpEmail({
      body: { name: "Ada Lovelace", email: "ada@example.com", password: "a horse that counts to ten" },
    });
    const create = async (settings: object) =>
      await auth.api.createApiKey({ body: { userId: user.id, ...settings } });
    const keys = {
      plain: await create({}),
      counted: await create({ name: "Counted", remaining: 2 }),
      expiring: await create({ name: "Expiring", expiresIn: 86_400 }),
      disabled: await create({ name: "Disabled" }),
      expired: await create({ name: "Expired" }),
    };
    await auth.api.updateApiKey({ body: { keyId: keys.disabled.id, userId: user.id, enabled: false } });
    const past = `update apikey set "expiresAt" = now() - interval '1 day' where id = $1`;
    await database.query(past, [keys.expired.id]);
    const rows = await exportRows({ ...connection, database: "better_auth" });
    // Older versions store times without a time zone.
    const column = `alter column "expiresAt" type timestamp using "expiresAt" at time zone 'UTC'`;
    await database.query(`alter table apikey ${column}`);
    expect(await exportRows({ ...connection, database: "better_auth" })).toEqual(rows);
    return { userId: user.id, keys, rows };
  } finally {
    await database.end();
  }
}

/** Runs the command of the documentation, in the time zone that it sets. */
async function exportRows(connection: pg.PoolConfig): Promise<string[]> {
  const page = await readFile(join(projectRoot, "docs/keyspaces.md"), "utf8");
  const [, timezone = "Asia/Tokyo", query] =
    /^(?:PGTZ=(\S+) )?psql "\$BETTER_AUTH.*<<'SQL'\n(.*?)^SQL$/ms.exec(page) ?? [];
  if (query === undefined) throw new Error("docs/keyspaces.md has no query.");
  const client = new pg.Client({ ...connection, options: `-c timezone=${timezone}` });
  await client.connect();
  try {
    const { rows } = await client.query<{ json_build_object: object }>(query);
    return rows.map(({ json_build_object: row }) => JSON.stringify(row));
  } finally {
    await client.end();
  }
}

test("keys of better-auth are imported with their state, expiry and balance, but without defaults of the keyspace", async () => {
  const { userId, keys, rows } = await exportKeys();
  const file = join(instance.directory, "keys.ndjson");
  await writeFile(file, rows.join("\n"));
  const { stdout } = await instance.command(["import", "keys", file, "--keyspace", keyspace.id, "--json"]);
  const line = rows.findIndex((row) => row.includes("Expired")) + 1;
  expect(JSON.parse(stdout)).toMatchObject({ imported: 4, rejected: [{ line, path: "expiresAt" }] });
  const verify = async ({ key }: { readonly key: string }) =>
    await callApi<Record<string, unknown>>(keyspace, ["POST", "/keys/verify"], { key });
  const common = { externalId: userId, expiresAt: null, credits: null };
  expect(await verify(keys.plain)).toMatchObject({ ...common, code: "VALID", name: "" });
  expect(await verify(keys.counted)).toMatchObject({
    code: "VALID",
    name: "Counted",
    credits: { remaining: 1 },
  });
  const expiresAt = keys.expiring.expiresAt?.toISOString();
  expect(await verify(keys.expiring)).toMatchObject({ ...common, code: "VALID", expiresAt });
  expect(await verify(keys.disabled)).toMatchObject({ ...common, code: "DISABLED" });
  expect(await verify(keys.expired)).toMatchObject({ code: "NOT_FOUND" });
  const path = `${pathOf(keyspace)}/keys?sort=name`;
  const { data } = await callApi<{ data: { name: string; start: string }[] }>(keyspace, ["GET", path]);
  const startOf = ({ key }: { readonly key: string }) => key.slice(0, 6);
  expect(data.find(({ name }) => name === "Counted")?.start).toBe(startOf(keys.counted));
});

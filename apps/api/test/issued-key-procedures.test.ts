// Keyspaces and issued keys in the web app.
import { createHash } from "node:crypto";
import { decodeId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addTeam, join, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function addKeyspace({ id: workspaceId, owner: { client } }: Team) {
  const fields = { name: "Production", prefix: "sk_live" };
  const { id } = await client.keyspaces.create.mutate({ workspaceId, fields });
  return { workspaceId, keyspaceId: id };
}

test("lists keyspaces that match, with their number", async () => {
  const team = await addTeam(app);
  const { workspaceId } = await addKeyspace(team);
  const { keyspaces } = team.owner.client;
  for (const name of ["Staging", "Test"])
    await keyspaces.create.mutate({ workspaceId, fields: { name, prefix: "sk_test" } });
  const list = async (input: object) => {
    const { items, total } = await keyspaces.list.query({ workspaceId, ...input });
    return [items.map(({ name }) => name), total];
  };
  expect(await list({ sort: "-name" })).toEqual([["Test", "Staging", "Production"], 3]);
  expect(await list({ search: "SK_TEST", sort: "name" })).toEqual([["Staging", "Test"], 2]);
  expect(await list({ status: "disabled" })).toEqual([[], 0]);
});

test("rejects an edit of a keyspace and of a key that changed in the meantime", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  const { keyspaces, issuedKeys } = team.owner.client;
  await keyspaces.update.mutate({ ...path, version: 1, changes: { isDisabled: true } });
  await expect(
    keyspaces.update.mutate({ ...path, version: 1, changes: { name: "Late" } }),
  ).rejects.toMatchObject({ data: { code: "PRECONDITION_FAILED" } });
  const { id } = await issuedKeys.create.mutate({ ...path, fields: {} });
  await issuedKeys.update.mutate({ ...path, id, version: 1, changes: { isDisabled: true } });
  const late = { data: { code: "PRECONDITION_FAILED" } };
  await expect(
    issuedKeys.update.mutate({ ...path, id, version: 1, changes: { name: "Late" } }),
  ).rejects.toMatchObject(late);
  const { version } = await issuedKeys.rotate.mutate({ ...path, id, overlapSeconds: 3_600 });
  const revoke = (input: object) => issuedKeys.revokeOldSecrets.mutate({ ...path, id, ...input });
  await expect(revoke({ version: version - 1 })).rejects.toMatchObject(late);
  expect((await issuedKeys.get.query({ ...path, id })).formerSecrets).toHaveLength(1);
  expect(await revoke({ version })).toMatchObject({ formerSecrets: [], version: version + 1 });
  // Pages of earlier versions send no version.
  await issuedKeys.rotate.mutate({ ...path, id, overlapSeconds: 3_600 });
  expect(await revoke({})).toMatchObject({ formerSecrets: [] });
});

test("filters the keys of a keyspace, in pages", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  const { issuedKeys } = team.owner.client;
  const issue = async (fields: object) => await issuedKeys.create.mutate({ ...path, fields });
  const acme = await issue({ name: "Acme", externalId: "acme", permissions: ["documents.read"] });
  for (let number = 10; number < 22; number += 1) await issue({ name: `Globex ${number}` });
  const list = async (input: object) => {
    const { items } = await issuedKeys.list.query({ ...path, ...input });
    return items.map(({ name }) => name);
  };
  expect(await list({ externalId: "acme" })).toEqual(["Acme"]);
  expect(await list({ permission: "documents.read", status: "active" })).toEqual(["Acme"]);
  expect(await list({ start: acme.start })).toEqual(["Acme"]);
  const first = await issuedKeys.list.query({ ...path, name: "glo", sort: "-name", pageSize: 10 });
  expect(first.items[0]?.name).toBe("Globex 21");
  const cursor = first.nextCursor ?? "";
  expect(await list({ name: "glo", sort: "-name", pageSize: 10, cursor })).toEqual([
    "Globex 11",
    "Globex 10",
  ]);
});

test("a search finds names, first characters, also with a former prefix, old secrets and imported keys", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  const { issuedKeyImport, issuedKeys, keyspaces } = team.owner.client;
  const { id, start } = await issuedKeys.create.mutate({ ...path, fields: { name: "Acme" } });
  const { start: newStart } = await issuedKeys.rotate.mutate({ ...path, id, overlapSeconds: 3_600 });
  const hash = createHash("sha256").update(path.keyspaceId).digest("hex");
  const content = { hash, start: "old_4fTq", name: "Imported" };
  await issuedKeyImport.importRows.mutate({ ...path, rows: [{ line: 1, content }] });
  await issuedKeys.create.mutate({ ...path, fields: { name: "old_4ftq of Globex" } });
  const { keyspaceId, ...workspace } = path;
  const change = { version: 1, changes: { prefix: "sk_prod" } };
  await keyspaces.update.mutate({ ...workspace, keyspaceId, ...change });
  const search = async (text: string) => {
    const { items } = await issuedKeys.list.query({ ...path, search: text, sort: "name" });
    return items.map(({ name }) => name);
  };
  expect(await search(start)).toEqual(["Acme"]);
  expect(await search(newStart)).toEqual(["Acme"]);
  expect(await search("old_4fTq")).toEqual(["Imported", "old_4ftq of Globex"]);
  expect(await search("acm")).toEqual(["Acme"]);
  expect(await search("nobody")).toEqual([]);
});

// The page sizes that are chosen unless the URL has another one (`listPageSize` of the web app).
test("lists 50 keys and 50 consumers, unless another page size was chosen", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  const { consumers, issuedKeyImport, issuedKeys } = team.owner.client;
  const rows = Array.from({ length: 51 }, (_, number) => {
    const hash = createHash("sha256").update(`${path.keyspaceId}${number}`).digest("hex");
    return { line: number + 1, content: { hash, externalId: `customer_${number}` } };
  });
  expect(await issuedKeyImport.importRows.mutate({ ...path, rows })).toMatchObject({ imported: 51 });
  expect((await issuedKeys.list.query(path)).items).toHaveLength(50);
  expect((await consumers.list.query(path)).items).toHaveLength(50);
  expect((await consumers.list.query({ ...path, pageSize: 10 })).items).toHaveLength(10);
});

test("verifies a pasted key for a member, spends only the cost, and counts no API key's use", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  const { client } = await join(app, team, "member");
  const { key, id } = await team.owner.client.issuedKeys.create.mutate({
    ...path,
    fields: { credits: { remaining: 5 }, permissions: ["documents.*"], ipRanges: ["203.0.113.0/24"] },
  });
  const verify = async (input: object) => {
    const { code, credits } = await client.issuedKeys.verify.mutate({ ...path, key, ...input });
    return [code, credits?.remaining];
  };
  const clientIp = "203.0.113.7";
  expect(await verify({})).toEqual(["FORBIDDEN", 5]);
  expect(await verify({ clientIp, permissions: "documents.read OR admin" })).toEqual(["VALID", 5]);
  expect(await verify({ clientIp, permissions: "admin" })).toEqual(["INSUFFICIENT_PERMISSIONS", 5]);
  expect(await verify({ clientIp, cost: 3 })).toEqual(["VALID", 2]);
  expect(await verify({ clientIp, cost: 3 })).toEqual(["USAGE_EXCEEDED", 2]);
  const { usageCount } = await client.issuedKeys.get.query({ ...path, id });
  expect(usageCount).toBe(1);
  const { rows } = await sql<{ uses: number }>`
    select coalesce(sum(use_count), 0)::integer as uses from key_counters join api_keys on id = key_id
    where user_id in (select user_id from members where workspace_id = ${decodeId("workspace", team.id)})`.execute(
    app.owner,
  );
  expect(rows).toEqual([{ uses: 0 }]);
  await expect(verify({ clientIp, permissions: "documents.read AND" })).rejects.toMatchObject({
    data: { code: "BAD_REQUEST", issues: [{ path: "permissions" }] },
  });
});

test("verifies no key of another keyspace, and no API key", async () => {
  const team = await addTeam(app);
  const [path, other] = [await addKeyspace(team), await addKeyspace(team)];
  const { issuedKeys } = team.owner.client;
  const { key } = await issuedKeys.create.mutate({ ...other, fields: {} });
  const codeOf = async (text: string) => (await issuedKeys.verify.mutate({ ...path, key: text })).code;
  expect(await codeOf(key)).toBe("NOT_FOUND");
  expect(await codeOf(team.owner.secret)).toBe("NOT_FOUND");
  expect(await codeOf("no key at all")).toBe("NOT_FOUND");
});

test("the database's clock decides when a key with a lifetime expires", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  const { issuedKeys } = team.owner.client;
  /** How many seconds from now a key expires, by the database's clock. */
  const readLifetime = async (id: string) => {
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from expires_at - clock_timestamp())::double precision as seconds
      from issued_keys where id = ${decodeId("issuedKey", id)}`.execute(app.owner);
    return rows[0]?.seconds;
  };
  const fields = { expiresAt: { inSeconds: 86_400 } };
  const { id, version } = await issuedKeys.create.mutate({ ...path, fields });
  const lifetime = await readLifetime(id);
  expect(lifetime).toBeLessThanOrEqual(86_400);
  // More than an hour would be a time zone or another clock.
  expect(lifetime).toBeGreaterThan(86_400 - 3_600);
  const changes = { expiresAt: { inSeconds: 30 * 86_400 } };
  await issuedKeys.update.mutate({ ...path, id, version, changes });
  expect(await readLifetime(id)).toBeGreaterThan(29 * 86_400);
  for (const expiresAt of [{ inSeconds: 0 }, { inSeconds: 1.5 }, { inSeconds: 60, from: "now" }])
    await expect(issuedKeys.create.mutate({ ...path, fields: { expiresAt } })).rejects.toMatchObject({
      data: { code: "BAD_REQUEST", issues: [{ path: expect.stringMatching(/^fields\.expiresAt/) }] },
    });
});

test("rejects metadata that Postgres can't store", async () => {
  const team = await addTeam(app);
  const path = await addKeyspace(team);
  for (const [meta, place] of [
    [{ plan: "\ud800" }, "fields.meta.plan"],
    [{ "\udc00": 1 }, "fields.meta"],
  ] as const) {
    const issued = team.owner.client.issuedKeys.create.mutate({ ...path, fields: { meta } });
    await expect(issued).rejects.toMatchObject({ data: { code: "BAD_REQUEST", issues: [{ path: place }] } });
  }
});

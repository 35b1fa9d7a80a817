// A workspace that requires a second factor rejects the API keys of people who have none, from the next request on every node.

import { randomBytes, randomUUID } from "node:crypto";
import type { PasskeyId, UserId } from "@latchkey/db/ids";
import { deletePasskey, insertPasskey, listPasskeys } from "@latchkey/db/passkeys";
import {
  confirmTotp,
  deleteSecondFactors,
  deleteTotp,
  replaceUnconfirmedTotp,
} from "@latchkey/db/second-factors";
import { insertServiceAccount } from "@latchkey/db/service-accounts";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { insertWorkspace, updateWorkspace } from "@latchkey/db/workspaces";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addUser, addKey } = admissionKit(() => database);

async function addWorkspace(ownerId: UserId): Promise<WorkspaceScope> {
  const workspace = { name: "Workspace", slug: randomUUID(), ownerId };
  const made = await database.db.transaction().execute((trx) => insertWorkspace(trx, workspace));
  return made?.scope as WorkspaceScope; // No workspace has this slug.
}

/** Changes the requirement as the product does. */
async function setRequired(scope: WorkspaceScope, requiresSecondFactor: boolean): Promise<void> {
  const change = { fields: { requiresSecondFactor }, versions: undefined } as const;
  const updated = await inWorkspace(database.db, scope, (trx) => updateWorkspace(trx, scope, change));
  expect(updated).toMatchObject({ requiresSecondFactor });
}

const secret = Buffer.from("sealed");

async function startTotp(userId: UserId): Promise<void> {
  await database.db.transaction().execute((trx) => replaceUnconfirmedTotp(trx, userId, secret));
}

async function enableTotp(userId: UserId): Promise<void> {
  await startTotp(userId);
  await database.db.transaction().execute((trx) => confirmTotp(trx, userId, { secret, step: 1 }));
}

/** Two nodes that have cached facts about a key, and a function that asks both for their verdicts in the workspace. */
async function openNodes(scope: WorkspaceScope, key: TestKey) {
  const nodes: readonly Admission[] = [openNode(), openNode()];
  const requirement = { workspaceId: scope.workspaceId, permission: "workspace:read" } as const;
  const ask = async () => {
    const verdicts = await Promise.all(nodes.map((node) => node.admit(key.secret, requirement)));
    return verdicts.map((verdict) => (verdict.kind === "rejected" ? verdict.reason : verdict.kind));
  };
  expect(await ask()).toEqual(["admitted", "admitted"]);
  return { nodes, ask };
}

const admitted = ["admitted", "admitted"];
const rejected = ["policy", "policy"];

test("every change to the requirement and to the factors applies to the next request, on every node", async () => {
  const userId = await addUser();
  const [scope, key] = [await addWorkspace(userId), await addKey(userId)];
  const elsewhere = await openNodes(await addWorkspace(userId), key);
  const { nodes, ask } = await openNodes(scope, key);
  await setRequired(scope, true);
  expect(await ask()).toEqual(rejected);
  // Only this workspace rejects the key.
  expect(await elsewhere.ask()).toEqual(admitted);
  for (const node of nodes) expect(await node.admit(key.secret)).toMatchObject({ kind: "admitted" });

  await startTotp(userId);
  expect(await ask()).toEqual(rejected);
  await enableTotp(userId);
  expect(await ask()).toEqual(admitted);
  const [credentialId, publicKey] = [randomUUID(), randomBytes(77)];
  const passkey = { name: "Laptop", credentialId, publicKey, signCount: 0, transports: [] };
  await database.db.transaction().execute((trx) => insertPasskey(trx, userId, passkey));
  await database.db.transaction().execute((trx) => deleteTotp(trx, userId));
  expect(await ask()).toEqual(admitted);
  const [stored] = await listPasskeys(database.db, userId);
  const id = stored?.id as PasskeyId; // The passkey was just added.
  await database.db.transaction().execute((trx) => deletePasskey(trx, { userId, id }));
  expect(await ask()).toEqual(rejected);
  await setRequired(scope, false);
  expect(await ask()).toEqual(admitted);
  await setRequired(scope, true);
  await enableTotp(userId);
  expect(await ask()).toEqual(admitted);
  await database.db.transaction().execute((trx) => deleteSecondFactors(trx, userId));
  expect(await ask()).toEqual(rejected);
});

test("a service account, which can have no factor, is exempt", async () => {
  const scope = await addWorkspace(await addUser());
  const userId = await inWorkspace(database.db, scope, (trx) =>
    insertServiceAccount(trx, scope, { name: "Deploys", role: "viewer" }),
  );
  const { ask } = await openNodes(scope, await addKey(userId));
  await setRequired(scope, true);
  expect(await ask()).toEqual(admitted);
});

test("while requests run, none that starts after a change is allowed by the state before it", async () => {
  const userId = await addUser();
  const [scope, key] = [await addWorkspace(userId), await addKey(userId)];
  const { ask } = await openNodes(scope, key);
  for (let round = 0; round < 20; round += 1) {
    const background = Array.from({ length: 10 }, ask);
    await setRequired(scope, round % 2 === 0);
    expect(await ask()).toEqual(round % 2 === 0 ? rejected : admitted);
    await Promise.all(background);
  }
});

test("the requirement changes the versions of the members alone, and other changes of a workspace change none", async () => {
  const [owner, stranger] = [await addUser(), await addUser()];
  const scope = await addWorkspace(owner);
  const readVersions = async () => {
    const { rows } = await sql<{ owner_id: string; version: number }>`
      select owner_id, version from owner_versions where owner_id = any(${[owner, stranger]}::uuid[])`.execute(
      database.owner,
    );
    return Object.fromEntries(rows.map(({ owner_id, version }) => [owner_id, version]));
  };
  const change = { fields: { name: "Renamed" }, versions: undefined } as const;
  await inWorkspace(database.db, scope, (trx) => updateWorkspace(trx, scope, change));
  expect(await readVersions()).toEqual({});
  await setRequired(scope, true);
  await setRequired(scope, true);
  expect(await readVersions()).toEqual({ [owner]: 1 });
});

test("a user who is deleted together with their factors keeps no version", async () => {
  const userId = await addUser();
  await enableTotp(userId);
  await sql`delete from owner_versions where owner_id = ${userId}`.execute(database.owner);
  await sql`delete from users where id = ${userId}`.execute(database.owner);
  const { rows } = await sql`select from owner_versions where owner_id = ${userId}`.execute(database.owner);
  expect(rows).toEqual([]);
});

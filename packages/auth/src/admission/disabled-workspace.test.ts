// A disabled workspace rejects API keys and verifies its keys as disabled, from the next request on every node.

import type { WorkspaceId } from "@latchkey/db/ids";
import { mintWorkspaceScope } from "@latchkey/db/mint-workspace-scope";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { listMemberIds, setWorkspaceDisabled } from "@latchkey/db/workspaces";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
  codesOf,
  type TestKeyspace,
  verificationOf,
  verifierKit,
} from "../verification/verifier.test-kit.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode } = admissionKit(() => database);
const kit = verifierKit(() => database);
const { addKey, addKeyspace, addKeyspaceTo, addConsumer, issueKey, execute } = kit;

/** Changes a workspace as the product does. */
async function setDisabled(workspaceId: WorkspaceId, isDisabled: boolean): Promise<void> {
  const scope = mintWorkspaceScope(workspaceId);
  await inWorkspace(database.db, scope, async (trx) => {
    expect(await setWorkspaceDisabled(trx, scope, isDisabled)).toBe(true);
    await bumpOwnerVersions(trx, [workspaceId, ...(await listMemberIds(trx, scope))]);
  });
}

/** Returns the verdicts of two nodes, which remember the key, about a request with it in the workspace. */
function openNodes(workspaceId: WorkspaceId, { secret }: TestKey) {
  const nodes = [openNode(), openNode()];
  const requirement = { workspaceId, permission: "keyspaces:read" } as const;
  return async () => {
    const verdicts = await Promise.all(nodes.map((node) => node.admit(secret, requirement)));
    return verdicts.map((verdict) => (verdict.kind === "rejected" ? verdict.reason : verdict.kind));
  };
}

const both = (text: string) => [text, text];

test("API keys are rejected in the workspace and nowhere else", async () => {
  const [space, other] = [await addKeyspace(), await addKeyspace()];
  const { caller } = space;
  await execute(sql`
    insert into members (workspace_id, user_id, role) values (${other.workspaceId}, ${caller.userId}, 'viewer')`);
  const [ask, askElsewhere] = [openNodes(space.workspaceId, caller), openNodes(other.workspaceId, caller)];
  const nodes = [openNode(), openNode()];
  const askWithoutWorkspace = async () =>
    (await Promise.all(nodes.map((node) => node.admit(caller.secret)))).map(({ kind }) => kind);
  for (let round = 0; round < 3; round += 1) {
    expect(await ask()).toEqual(both("admitted"));
    await setDisabled(space.workspaceId, true);
    expect([await ask(), await ask()]).toEqual([both("workspace-disabled"), both("workspace-disabled")]);
    expect(await askElsewhere()).toEqual(both("admitted"));
    expect(await askWithoutWorkspace()).toEqual(both("admitted"));
    await setDisabled(space.workspaceId, false);
  }
});

test("while requests run, none that starts after a change is allowed by the state before it", async () => {
  const { workspaceId, caller } = await addKeyspace();
  const ask = openNodes(workspaceId, caller);
  for (let round = 0; round < 20; round += 1) {
    const background = Array.from({ length: 10 }, ask);
    const isDisabled = round % 2 === 0;
    await setDisabled(workspaceId, isDisabled);
    expect(await ask()).toEqual(both(isDisabled ? "workspace-disabled" : "admitted"));
    await Promise.all(background);
  }
});

/** Makes the owner of a key a service account of the workspace. */
const toServiceAccount = (workspaceId: WorkspaceId, { userId }: TestKey) =>
  execute(sql`update users set service_workspace_id = ${workspaceId} where id = ${userId}`);

test("keys of service accounts are rejected without a workspace too, and can verify keys", async () => {
  const space = await addKeyspace();
  await toServiceAccount(space.workspaceId, space.caller);
  const { secret } = space.caller;
  const nodes = [openNode(), openNode()];
  const verifier = kit.openNode();
  const issued = await issueKey(space);
  const ask = async (requirement?: "unrestricted") => {
    const verdicts = await Promise.all(nodes.map((node) => node.admit(secret, requirement)));
    return verdicts.map((verdict) => (verdict.kind === "rejected" ? verdict.reason : verdict.kind));
  };
  const verify = async () =>
    codesOf(
      await verifier.verify(secret, {
        address: undefined,
        verifications: [verificationOf(issued)],
        name: undefined,
      }),
    );
  for (let round = 0; round < 3; round += 1) {
    expect([await ask(), await ask("unrestricted")]).toEqual([both("admitted"), both("admitted")]);
    expect(await verify()).toEqual(["VALID"]);
    await setDisabled(space.workspaceId, true);
    for (const requirement of [undefined, "unrestricted"] as const)
      expect(await ask(requirement)).toEqual(both("workspace-disabled"));
    expect([await verify(), await verify()]).toEqual([["DISABLED"], ["DISABLED"]]);
    await setDisabled(space.workspaceId, false);
  }
});

/** One key of each kind that a verification decides differently. */
async function issueKeys(space: TestKeyspace) {
  const always = { windowSeconds: 3_600, appliesAlways: true };
  const shared = await addConsumer(space, [{ name: "shared", quota: 1_000, ...always }]);
  const elsewhere = { ...space, keyspaceId: await addKeyspaceTo(space.workspaceId) };
  return [
    await issueKey(space),
    await issueKey(elsewhere),
    await issueKey(space, { limits: [{ name: "requests", quota: 1_000, ...always }] }),
    await issueKey(space, { credits: 1_000 }),
    await issueKey(space, { consumerId: shared }),
  ];
}

test("issued keys of all keyspaces are verified as disabled, with meters and without", async () => {
  const space = await addKeyspace();
  const keys = await issueKeys(space);
  const nodes = [kit.openNode(), kit.openNode()];
  const readUses = async () => {
    const counters = await Promise.all(keys.map(({ id }) => kit.readCounter(id)));
    return counters.map((counter) => counter?.uses);
  };
  const ask = async () => {
    const answers = nodes.flatMap((node) =>
      keys.map((key) =>
        node.verify(space.caller.secret, {
          address: undefined,
          verifications: [verificationOf(key)],
          name: undefined,
        }),
      ),
    );
    return [...new Set((await Promise.all(answers)).flatMap(codesOf))];
  };
  for (let round = 0; round < 3; round += 1) {
    // The second time, the keys without meters are counted in one statement.
    expect([await ask(), await ask()]).toEqual([["VALID"], ["VALID"]]);
    const uses = await readUses();
    await setDisabled(space.workspaceId, true);
    expect([await ask(), await ask()]).toEqual([["DISABLED"], ["DISABLED"]]);
    expect(await readUses()).toEqual(uses);
    await setDisabled(space.workspaceId, false);
  }
});

test("remembered facts about issued keys are outdated even for callers whose own facts are current", async () => {
  const space = await addKeyspace();
  const { workspaceId } = space;
  const keys = await issueKeys(space);
  const node = kit.openNode();
  const ask = async (caller: TestKey, asked = keys) => {
    const answers = asked.map((key) =>
      node.verify(caller.secret, {
        address: undefined,
        verifications: [verificationOf(key)],
        name: undefined,
      }),
    );
    return [...new Set((await Promise.all(answers)).flatMap(codesOf))];
  };
  const askWithoutKey = async () => {
    const outcomes = keys.map((key) =>
      node.verifyWithoutKey("a member", { ...verificationOf(key), workspaceId }),
    );
    const codes = (await Promise.all(outcomes)).map((outcome) =>
      outcome?.kind === "verified" ? outcome.results[0]?.code : outcome?.kind,
    );
    return [...new Set(codes)];
  };
  expect([await ask(space.caller), await ask(space.caller)]).toEqual([["VALID"], ["VALID"]]);
  await setDisabled(workspaceId, true);
  // An operator can add members to a disabled workspace.
  const newMember = await addKey();
  await execute(sql`
    insert into members (workspace_id, user_id, role) values (${workspaceId}, ${newMember.userId}, 'member')`);
  // The node remembers the membership from another key, which it reads for the first time.
  expect(await ask(newMember, [await issueKey(space)])).toEqual(["DISABLED"]);
  expect([await ask(newMember), await ask(newMember)]).toEqual([["DISABLED"], ["DISABLED"]]);
  await setDisabled(workspaceId, false);
  expect([await askWithoutKey(), await askWithoutKey()]).toEqual([["VALID"], ["VALID"]]);
});

test("an issued key that is created while its workspace is disabled is disabled too, until the workspace is enabled", async () => {
  const space = await addKeyspace();
  const node = kit.openNode();
  const ask = async (secret: string) =>
    codesOf(
      await node.verify(space.caller.secret, {
        address: undefined,
        verifications: [verificationOf({ secret })],
        name: undefined,
      }),
    );
  await setDisabled(space.workspaceId, true);
  const key = await issueKey({ ...space, keyspaceId: await addKeyspaceTo(space.workspaceId) });
  expect(await ask(key.secret)).toEqual(["DISABLED"]);
  await setDisabled(space.workspaceId, false);
  expect(await ask(key.secret)).toEqual(["VALID"]);
});

test("an API key is verified as disabled in the workspace, and as valid in another one", async () => {
  const space = await addKeyspace();
  const owner = await addKey();
  const other = await addKeyspace();
  for (const [{ workspaceId }, userId] of [
    [space, owner.userId],
    [other, owner.userId],
    [other, space.caller.userId],
  ] as const)
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${workspaceId}, ${userId}, 'member')`);
  const nodes = [kit.openNode(), kit.openNode()];
  const ask = async () => {
    const answers = nodes.map((node) =>
      node.verify(space.caller.secret, {
        address: undefined,
        verifications: [space, other].map(({ workspaceId }) => verificationOf(owner, { workspaceId })),
        name: undefined,
      }),
    );
    return (await Promise.all(answers)).map(codesOf);
  };
  expect(await ask()).toEqual([
    ["VALID", "VALID"],
    ["VALID", "VALID"],
  ]);
  await setDisabled(space.workspaceId, true);
  expect(await ask()).toEqual([
    ["DISABLED", "VALID"],
    ["DISABLED", "VALID"],
  ]);
  await setDisabled(space.workspaceId, false);
  expect(await ask()).toEqual([
    ["VALID", "VALID"],
    ["VALID", "VALID"],
  ]);
});

test("a caller without the permission to verify finds no key of a disabled workspace", async () => {
  const space = await addKeyspace({ role: "viewer" });
  const key = await issueKey(space);
  await setDisabled(space.workspaceId, true);
  const answer = await kit.openNode().verify(space.caller.secret, {
    address: undefined,
    verifications: [verificationOf(key)],
    name: undefined,
  });
  expect(codesOf(answer)).toEqual(["NOT_FOUND"]);
});

import { randomUUID } from "node:crypto";
import { lockApiKey, rotateApiKey, updateApiKey } from "@latchkey/db/api-key-changes";
import type { WorkspaceId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { insertWorkspace } from "@latchkey/db/workspaces";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";
import type { WorkspaceRequirement } from "./decision.ts";
import type { Verdict } from "./verdict.ts";

// Requests with the same key that wait for the same statement but must get different verdicts.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addKey } = admissionKit(() => database);

async function restrict(key: TestKey, settings: Partial<KeySettings>): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await updateApiKey(trx, key, { settings: { ...defaultSettings, ...settings } });
    await bumpKeyVersions(trx, { keyId: key.id });
  });
}

async function rotate(key: TestKey): Promise<string> {
  const { secret, start, hash } = createApiKey();
  await database.db.transaction().execute(async (trx) => {
    await lockApiKey(trx, key);
    await rotateApiKey(trx, key.id, { start, hash, overlapSeconds: 3_600 });
    await bumpKeyVersions(trx, { keyId: key.id });
  });
  return secret;
}

async function countUses({ id }: TestKey): Promise<number> {
  const { use_count } = await database.owner
    .selectFrom("key_counters")
    .select("use_count")
    .where("key_id", "=", id)
    .executeTakeFirstOrThrow();
  return use_count;
}

test("a request decided based on facts from before a change isn't allowed along with requests decided based on facts from after it", async () => {
  const key = await addKey();
  await restrict(key, { ipRanges: ["10.0.0.0/8"] });
  let late: Promise<Verdict> | undefined;
  const node: Admission = openNode({
    onStatement({ lookups }) {
      // The lookup of the new facts is in flight, so the node decides this request by the old ones. It waits, because it is
      // alone and three requests are in flight, and then shares a statement with them.
      if (isChanged && lookups > 0) late ??= node.admit(key.secret, undefined, "10.0.0.1");
    },
  });
  let isChanged = false;
  expect(await node.admit(key.secret, undefined, "10.0.0.1")).toMatchObject({ kind: "admitted" });
  await restrict(key, { ipRanges: ["192.0.2.0/24"] });
  isChanged = true;
  const early = Array.from({ length: 3 }, () => node.admit(key.secret, undefined, "192.0.2.1"));
  expect((await Promise.all(early)).map(({ kind }) => kind)).toEqual(Array(3).fill("admitted"));
  expect(await late).toMatchObject({ kind: "rejected", reason: "address" });
  expect(await countUses(key)).toBe(4);
});

test("requests with an old secret and with the current one are each answered for their own secret", async () => {
  const key = await addKey();
  const current = await rotate(key);
  const node = openNode();
  const secrets = [current, key.secret, current, key.secret];
  for (const secret of [current, key.secret]) await node.admit(secret);
  const verdicts = await Promise.all(secrets.map((secret) => node.admit(secret)));
  expect(verdicts).toMatchObject(
    secrets.map((secret) => ({
      kind: "admitted",
      principal: { keyId: key.id, isByFormerSecret: secret === key.secret },
    })),
  );
  const [digest, formerDigest] = verdicts.map((verdict) =>
    verdict.kind === "admitted" ? verdict.principal.digest : undefined,
  );
  expect(digest).not.toBe(formerDigest);
  expect(await countUses(key)).toBe(6);
});

test("requests that look up one key for two workspaces and for none each get the role of their own workspace", async () => {
  const key = await addKey();
  const [one, other] = [await addWorkspace(key), await addWorkspace(key)];
  const demands: readonly (WorkspaceRequirement | undefined)[] = [
    undefined,
    { workspaceId: one, permission: "workspace:read" },
    { workspaceId: other, permission: "workspace:read" },
  ];
  for (const order of [demands, demands.toReversed()]) {
    const node = openNode();
    const verdicts = await Promise.all(order.map((requirement) => node.admit(key.secret, requirement)));
    const reached = verdicts.map((verdict) =>
      verdict.kind === "admitted" ? verdict.access?.scope.workspaceId : verdict.kind,
    );
    expect(reached).toEqual(order.map((requirement) => requirement?.workspaceId));
  }
});

async function addWorkspace({ userId: ownerId }: TestKey): Promise<WorkspaceId> {
  const workspace = { name: "Workspace", slug: randomUUID(), ownerId };
  const made = await database.db.transaction().execute((trx) => insertWorkspace(trx, workspace));
  return made?.scope.workspaceId as WorkspaceId; // No workspace has this slug.
}

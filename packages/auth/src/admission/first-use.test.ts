import { setTimeout as delay } from "node:timers/promises";
import { insertApiKey, lockApiKey, replaceUnusedSecret, rotateApiKey } from "@latchkey/db/api-key-changes";
import { startupOptions } from "@latchkey/db/connection";
import type { KeyId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import type { Trx } from "@latchkey/db/schema";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import { resolveUses } from "./resolve-statement.ts";
import { createIncrement } from "./usage-increment.test-kit.ts";
import type { Verdict } from "./verdict.ts";

// A secret that a rotation issued can be replaced until the first request is allowed with it, and never afterwards.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addKey } = admissionKit(() => database);

type NewSecret = ReturnType<typeof createApiKey>;

/** Gives a key a new secret, as the product does. */
async function rotate(key: TestKey, overlapSeconds = 3_600): Promise<NewSecret> {
  const issued = createApiKey();
  await database.db.transaction().execute(async (trx) => {
    await lockApiKey(trx, key);
    await rotateApiKey(trx, key.id, { ...issued, overlapSeconds });
    await bumpKeyVersions(trx, { keyId: key.id, hasNewSecret: true });
  });
  return issued;
}

/** Replaces a secret as the product does. Returns the new one, or undefined if the secret was used. */
async function replaceIn(trx: Trx, key: TestKey, issued: NewSecret): Promise<NewSecret | undefined> {
  const next = createApiKey();
  await lockApiKey(trx, key);
  const replaced = { id: key.id, issuedHash: issued.hash };
  return (await replaceUnusedSecret(trx, replaced, next)) ? next : undefined;
}

async function replace(key: TestKey, issued: NewSecret): Promise<NewSecret | undefined> {
  return await database.db.transaction().execute((trx) => replaceIn(trx, key, issued));
}

async function countUses({ id }: TestKey): Promise<number> {
  const { use_count } = await database.owner
    .selectFrom("key_counters")
    .select("use_count")
    .where("key_id", "=", id)
    .executeTakeFirstOrThrow();
  return use_count;
}

function kindOf(verdict: Verdict): string {
  return verdict.kind === "rejected" ? verdict.reason : verdict.kind;
}

test("any node marks the first use of a new secret, and only that use", async () => {
  const nodes = [openNode(), openNode()] as const;
  for (const node of nodes) {
    const key = await addKey();
    await node.admit(key.secret);
    let issued = await rotate(key);
    for (const other of nodes) expect(kindOf(await other.admit(key.secret))).toBe("admitted");
    const next = await replace(key, issued);
    expect(next).toBeDefined();
    for (const other of nodes) expect(kindOf(await other.admit(issued.secret))).toBe("rotated-out");
    issued = next as NewSecret; // Expected above.
    expect(kindOf(await node.admit(issued.secret))).toBe("admitted");
    expect(await replace(key, issued)).toBeUndefined();
    for (const other of nodes) expect(kindOf(await other.admit(issued.secret))).toBe("admitted");
  }
});

test("a key that was never used may have its first secret replaced", async () => {
  const { userId } = await addKey();
  const first = createApiKey();
  const id = (await database.db
    .transaction()
    .execute((trx) => insertApiKey(trx, { userId, name: "key", description: "", ...first }))) as KeyId; // The user is not disabled.
  const key = { userId, id, secret: first.secret };
  const next = await replace(key, first);
  const node = openNode();
  expect(kindOf(await node.admit(key.secret))).toBe("rotated-out");
  expect(kindOf(await node.admit(next?.secret ?? ""))).toBe("admitted");
  expect(await replace(key, next as NewSecret)).toBeUndefined();
});

test("a batch with uses of the new and of the old secret marks the new one and counts all", async () => {
  const node = openNode();
  const [key, other] = [await addKey(), await addKey()];
  for (const { secret } of [key, other]) await node.admit(secret);
  const issued = await rotate(key);
  const secrets = [key.secret, issued.secret, other.secret, issued.secret, key.secret];
  const verdicts = await Promise.all(secrets.map((secret) => node.admit(secret)));
  expect(verdicts.map(kindOf)).toEqual(secrets.map(() => "admitted"));
  expect([await countUses(key), await countUses(other)]).toEqual([5, 2]);
  expect(await replace(key, issued)).toBeUndefined();
});

test("after its first use, a new secret takes as many statements as any other", async () => {
  let statements = 0;
  const node = openNode({
    onStatement: () => {
      statements += 1;
    },
  });
  const key = await addKey();
  const issued = await rotate(key);
  const uses: number[] = [];
  for (let use = 1; use <= 4; use += 1) {
    statements = 0;
    expect(kindOf(await node.admit(issued.secret))).toBe("admitted");
    uses.push(statements);
  }
  // The statements look up and mark; look up and remember; use the remembered facts.
  expect(uses).toEqual([2, 2, 1, 1]);
});

test("a first use during a replacement waits for it, and is rejected when the replacement commits", async () => {
  let statements = 0;
  const node = openNode({
    onStatement: () => {
      statements += 1;
    },
  });
  const key = await addKey();
  const issued = await rotate(key);
  let verdict: Promise<Verdict> | undefined;
  const next = await database.db.transaction().execute(async (trx) => {
    const replaced = await replaceIn(trx, key, issued);
    verdict = node.admit(issued.secret);
    // The request was looked up, decided by the committed facts, and has met the locked row more than once.
    await expect.poll(() => statements).toBeGreaterThan(3);
    return replaced;
  });
  expect(kindOf((await verdict) as Verdict)).toBe("rotated-out");
  expect(kindOf(await node.admit(next?.secret ?? ""))).toBe("admitted");
  expect(await countUses(key)).toBe(1);
});

test("a replacement during a first use waits for it, and keeps the used secret", async () => {
  const key = await addKey();
  const issued = await rotate(key);
  const client = new pg.Client({
    ...testClientConfig(database.connection, "node"),
    options: startupOptions("latchkey_admission", []),
  });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  const increment = createIncrement(key.id, { version: 2 });
  const { uncounted } = await resolveUses(client, {
    increments: [increment],
    lookups: [],
    firstUses: [key.id],
  });
  expect(uncounted.size).toBe(0);
  const replacement = replace(key, issued);
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  await client.query("commit");
  expect(await replacement).toBeUndefined();
  expect(kindOf(await openNode().admit(issued.secret))).toBe("admitted");
});

test("of concurrent first uses on two nodes and a replacement, either all uses win or the replacement does", async () => {
  const nodes = [openNode(), openNode()] as const;
  for (let round = 0; round < 24; round += 1) {
    const key = await addKey();
    const issued = await rotate(key);
    const [next, ...verdicts] = await Promise.all([
      replace(key, issued),
      ...nodes.map(async (node) => {
        // So that sometimes the uses come first, and sometimes the replacement.
        await delay(round % 8);
        return await node.admit(issued.secret);
      }),
    ]);
    const kinds = verdicts.map(kindOf);
    if (next) {
      expect(kinds).toEqual(["rotated-out", "rotated-out"]);
      expect(kindOf(await nodes[0].admit(issued.secret))).toBe("rotated-out");
      expect(kindOf(await nodes[1].admit(next.secret))).toBe("admitted");
      expect(await countUses(key)).toBe(1);
    } else {
      expect(kinds).toEqual(["admitted", "admitted"]);
      expect(await countUses(key)).toBe(2);
    }
  }
});

test("however often a secret is replaced, the old secret keeps its overlap, and few old secrets are stored", async () => {
  const node = openNode();
  const key = await addKey();
  let issued = await rotate(key);
  await database.db.transaction().execute(async (trx) => {
    for (let count = 0; count < 120; count += 1) issued = (await replaceIn(trx, key, issued)) as NewSecret; // None was used.
  });
  expect(kindOf(await node.admit(key.secret))).toBe("admitted");
  expect(kindOf(await node.admit(issued.secret))).toBe("admitted");
  const { count } = await database.owner
    .selectFrom("retired_secrets")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("key_id", "=", key.id)
    .executeTakeFirstOrThrow();
  expect(count).toBeLessThanOrEqual(102);
});

test("old secrets whose overlap has ended don't displace a valid one, however many there are", async () => {
  const node = openNode();
  const key = await addKey();
  for (let count = 0; count < 6; count += 1) await rotate(key);
  await sql`
    update retired_secrets set good_until = clock_timestamp() - interval '1 second'
    where key_id = ${key.id}`.execute(database.owner);
  const { secret: kept } = await rotate(key);
  await rotate(key);
  for (let count = 0; count < 6; count += 1) await rotate(key, 0);
  expect(kindOf(await node.admit(kept))).toBe("admitted");
});

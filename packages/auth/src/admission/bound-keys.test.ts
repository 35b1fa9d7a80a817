import { endOverlap, lockApiKey, rotateApiKey, updateApiKey } from "@latchkey/db/api-key-changes";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openNode, addKey } = admissionKit(() => database);

/** What tests ask of a node. */
type Node = Pick<Admission, "admit">;

/** A node on which no key is alone in its batch: one that is, is counted by a text of its own. */
function openInCompany(): Node {
  const node = openNode();
  const other = addKey();
  other.catch(() => undefined); // Who awaits it is told.
  return {
    async admit(...request) {
      const { secret } = await other;
      let isAnswered = false;
      const verdict = node.admit(...request).finally(() => {
        isAnswered = true;
      });
      // A request that must be looked up is counted in a later batch than the one it arrived in.
      for (let batches = 0; !isAnswered && batches < 1_000; batches += 1)
        expect(await node.admit(secret)).toMatchObject({ kind: "admitted" });
      return await verdict;
    },
  };
}

async function hold(key: TestKey, settings: Partial<KeySettings>): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await updateApiKey(trx, key, { settings: { ...defaultSettings, ...settings } });
    await bumpKeyVersions(trx, { keyId: key.id, windowSeconds: settings.limit?.windowSeconds });
  });
}

async function addHeldKey(settings: Partial<KeySettings>): Promise<TestKey> {
  const key = await addKey();
  await hold(key, settings);
  return key;
}

/** What the database's clock does to a key when it is set forward; backward for fewer than none. */
async function letPass(key: TestKey, seconds: number): Promise<void> {
  const earlier = sql`${seconds} * interval '1 second'`;
  await sql`update api_keys set expires_at = expires_at - ${earlier} where id = ${key.id}`.execute(
    database.owner,
  );
  await sql`
    update retired_secrets set good_until = good_until - ${earlier} where key_id = ${key.id}`.execute(
    database.owner,
  );
  await sql`
    update key_counters set window_ends_at = window_ends_at - ${earlier}, version = version + 1
    where key_id = ${key.id}`.execute(database.owner);
}

async function countUses(key: TestKey): Promise<number> {
  const { use_count } = await database.owner
    .selectFrom("key_counters")
    .select("use_count")
    .where("key_id", "=", key.id)
    .executeTakeFirstOrThrow();
  return use_count;
}

async function kindOf(node: Node, secret: string, address?: string): Promise<string> {
  const verdict = await node.admit(secret, undefined, address);
  return verdict.kind === "refused" ? verdict.reason : verdict.kind;
}

/** How many of so many requests at once are admitted. */
async function admitAtOnce(nodes: readonly Node[], secret: string, requests: number): Promise<number> {
  const verdicts = await Promise.all(
    Array.from({ length: requests }, (_, index) => (nodes[index % nodes.length] as Node).admit(secret)),
  );
  expect(new Set(verdicts.map(({ kind }) => kind)).difference(new Set(["admitted", "limited"]))).toEqual(
    new Set(),
  );
  return verdicts.filter(({ kind }) => kind === "admitted").length;
}

describe.each([
  { batches: "that it has to itself", openNode },
  { batches: "with other keys in them", openNode: openInCompany },
])("in batches $batches", ({ openNode }) => {
  describe("a limit", () => {
    test("lets exactly so many through in a fresh window, of very many at once over two nodes", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addHeldKey({ limit: { quota: 20, windowSeconds: 60 } });
      expect(await admitAtOnce(nodes, key.secret, 1_000)).toBe(20);
      expect(await countUses(key)).toBe(20);
      expect(await admitAtOnce(nodes, key.secret, 100)).toBe(0);
      await letPass(key, 60);
      expect(await admitAtOnce(nodes, key.secret, 1_000)).toBe(20);
      expect(await countUses(key)).toBe(40);
    });

    test("tells where it stands, down to none, and when to come again", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 3, windowSeconds: 60 } });
      const limit = { limit: { quota: 3, windowSeconds: 60 }, resetsInSeconds: 60 };
      for (const remaining of [2, 1, 0])
        expect(await node.admit(key.secret)).toMatchObject({
          kind: "admitted",
          limit: { ...limit, remaining },
        });
      expect(await node.admit(key.secret)).toEqual({
        kind: "limited",
        presented: { keyId: key.id, retiredSecret: undefined },
        limit: { ...limit, remaining: 0 },
      });
    });

    test("leaves the last use alone where it lets nothing through", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 1, windowSeconds: 60 } });
      const readLastUse = () =>
        database.owner
          .selectFrom("key_counters")
          .select("last_used_at")
          .where("key_id", "=", key.id)
          .executeTakeFirstOrThrow();
      await node.admit(key.secret);
      const used = await readLastUse();
      expect(used.last_used_at).not.toBeNull();
      expect(await node.admit(key.secret)).toMatchObject({ kind: "limited" });
      expect(await readLastUse()).toEqual(used);
    });

    test("counts down request by request within one batch", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 10, windowSeconds: 60 } });
      await node.admit(key.secret);
      const verdicts = await Promise.all(Array.from({ length: 12 }, () => node.admit(key.secret)));
      const left = verdicts.map((verdict) => ("limit" in verdict ? verdict.limit?.remaining : undefined));
      expect(left).toEqual([8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]);
    });

    test("lets whoever waits as long as they are told through", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 1, windowSeconds: 60 } });
      await node.admit(key.secret);
      await letPass(key, 20.5);
      const verdict = await node.admit(key.secret);
      expect(verdict).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 40 } });
      await letPass(key, 38);
      expect(await kindOf(node, key.secret)).toBe("limited");
      await letPass(key, 2);
      expect(await kindOf(node, key.secret)).toBe("admitted");
    });

    test("begins its window with the first request after idleness, not by the clock's hands", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 2, windowSeconds: 60 } });
      await node.admit(key.secret);
      await letPass(key, 3_600 + 59);
      expect(await node.admit(key.secret)).toMatchObject({ limit: { remaining: 1, resetsInSeconds: 60 } });
      await letPass(key, 59);
      expect(await node.admit(key.secret)).toMatchObject({ limit: { remaining: 0, resetsInSeconds: 1 } });
      expect(await kindOf(node, key.secret)).toBe("limited");
    });

    test("is neither renewed nor stretched by a clock that was set back", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 2, windowSeconds: 60 } });
      expect(await admitAtOnce([node], key.secret, 5)).toBe(2);
      await letPass(key, -3_600);
      expect(await node.admit(key.secret)).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 62 } });
      await letPass(key, 62);
      expect(await admitAtOnce([node], key.secret, 5)).toBe(2);
    });

    test("forgets nothing of what a window has spent by being edited, however often", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 5, windowSeconds: 60 } });
      expect(await admitAtOnce([node], key.secret, 50)).toBe(5);
      for (const quota of [1, 4, 2, 5]) {
        await hold(key, { limit: { quota, windowSeconds: 60 } });
        expect(await admitAtOnce([node], key.secret, 5)).toBe(0);
      }
      await hold(key, { limit: { quota: 8, windowSeconds: 60 } });
      expect(await admitAtOnce([node], key.secret, 50)).toBe(3);
      await hold(key, { limit: null });
      expect(await admitAtOnce([node], key.secret, 50)).toBe(50);
    });

    test("ends its window no later than a window of its new length would end", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 1, windowSeconds: 86_400 } });
      expect(await admitAtOnce([node], key.secret, 5)).toBe(1);
      await hold(key, { limit: { quota: 1, windowSeconds: 60 } });
      expect(await node.admit(key.secret)).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 60 } });
      await letPass(key, 60);
      expect(await admitAtOnce([node], key.secret, 5)).toBe(1);
    });

    test("holds where another transaction has the row meanwhile, and the request is resolved in the isolated batch", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 3, windowSeconds: 60 } });
      await node.admit(key.secret);
      let requests: Promise<number> | undefined;
      await database.owner.transaction().execute(async (trx) => {
        await sql`select from key_counters where key_id = ${key.id} for update`.execute(trx);
        requests = admitAtOnce([node], key.secret, 10);
        // Longer than the statement waits for a row, so that these keys are isolated.
        await sql`select pg_sleep(0.3)`.execute(trx);
      });
      expect(await requests).toBe(2);
      expect(await countUses(key)).toBe(3);
    });

    test("of one key is nothing to another in the same batch", async () => {
      const node = openNode();
      const [limited, free] = [await addHeldKey({ limit: { quota: 1, windowSeconds: 60 } }), await addKey()];
      for (const key of [limited, free]) await node.admit(key.secret);
      const verdicts = await Promise.all([limited, free, limited, free].map((key) => node.admit(key.secret)));
      expect(verdicts.map(({ kind }) => kind)).toEqual(["limited", "admitted", "limited", "admitted"]);
      expect([await countUses(limited), await countUses(free)]).toEqual([1, 3]);
    });
  });

  describe("an expiry", () => {
    test("is judged by the database's clock, on a node that remembers the key as good", async () => {
      const node = openNode();
      const expiresAt = new Date(Date.now() + 2_000);
      const unlimited = await addHeldKey({ expiresAt });
      const limited = await addHeldKey({ expiresAt, limit: { quota: 100_000, windowSeconds: 60 } });
      const kindsOn = async (where: Node) => [
        await kindOf(where, unlimited.secret),
        await kindOf(where, limited.secret),
      ];
      expect(await kindsOn(node)).toEqual(["admitted", "admitted"]);
      // Nothing but the clock moves: no version does.
      await expect.poll(() => kindsOn(node), { timeout: 10_000 }).toEqual(["expired", "expired"]);
      expect(await kindsOn(openNode())).toEqual(["expired", "expired"]);
    });

    test("of one key is nothing to another in the same batch", async () => {
      const node = openNode();
      const [ending, free] = [
        await addHeldKey({ expiresAt: new Date(Date.now() + 3_600_000) }),
        await addKey(),
      ];
      for (const key of [ending, free]) expect(await kindOf(node, key.secret)).toBe("admitted");
      await letPass(ending, 3_600);
      const kinds = await Promise.all([ending, free, ending].map((key) => kindOf(node, key.secret)));
      expect(kinds).toEqual(["expired", "admitted", "expired"]);
    });
  });

  describe("a disabled key", () => {
    test("is refused on every node at once, and good again once enabled", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) expect(await kindOf(node, key.secret)).toBe("admitted");
      await hold(key, { isDisabled: true });
      for (const node of nodes) expect(await kindOf(node, key.secret)).toBe("disabled");
      await hold(key, {});
      for (const node of nodes) expect(await kindOf(node, key.secret)).toBe("admitted");
    });
  });

  describe("the last use", () => {
    test.each<[string, Partial<KeySettings>]>([
      ["without restrictions", {}],
      ["that expires", { expiresAt: new Date("2999-01-01T00:00:00Z") }],
      ["with a limit", { limit: { quota: 10, windowSeconds: 60 } }],
    ])("of a key %s does not move back when the database's clock is set back", async (_what, settings) => {
      const node = openNode();
      const key = await addHeldKey(settings);
      // Looked up by the first request, and counted as a key that the node knows by the second.
      for (const minutesAhead of [60, 30]) {
        const [before] = await sql<{ last_used_at: Date }>`
          update key_counters set last_used_at = clock_timestamp() + ${minutesAhead} * interval '1 minute'
          where key_id = ${key.id} returning last_used_at`
          .execute(database.owner)
          .then(({ rows }) => rows);
        expect(await kindOf(node, key.secret)).toBe("admitted");
        const after = await database.owner
          .selectFrom("key_counters")
          .select("last_used_at")
          .where("key_id", "=", key.id)
          .executeTakeFirstOrThrow();
        expect(after).toEqual(before);
      }
    });
  });

  describe("ranges of addresses", () => {
    test("hold on every node at once, whatever a node remembers", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) expect(await kindOf(node, key.secret, "192.0.2.1")).toBe("admitted");
      await hold(key, { ipRanges: ["10.0.0.0/8", "2001:db8::/32"] });
      for (const node of nodes) {
        for (const address of ["192.0.2.1", "::1", undefined])
          expect(await kindOf(node, key.secret, address)).toBe("address");
        for (const address of ["10.1.2.3", "2001:db8::7"])
          expect(await kindOf(node, key.secret, address)).toBe("admitted");
      }
    });
  });

  describe("a former secret", () => {
    async function rotate(key: TestKey, overlapSeconds: number): Promise<string> {
      const { secret, start, hash } = createApiKey();
      await database.db.transaction().execute(async (trx) => {
        await lockApiKey(trx, key);
        await rotateApiKey(trx, key.id, { start, hash, overlapSeconds });
        await bumpKeyVersions(trx, { keyId: key.id });
      });
      return secret;
    }

    test("is good beside the new one, as the same key, until its overlap is over", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) await node.admit(key.secret);
      const secret = await rotate(key, 3_600);
      for (const node of nodes) {
        const verdicts = await Promise.all(
          Array.from({ length: 20 }, (_, index) => node.admit(index % 2 === 0 ? key.secret : secret)),
        );
        expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(["admitted"]));
        expect(verdicts[0]).toMatchObject({
          presented: { keyId: key.id, retiredSecret: expect.any(String) },
        });
        expect(verdicts[1]).toMatchObject({ presented: { keyId: key.id, retiredSecret: undefined } });
      }
      expect(await countUses(key)).toBe(42);
      await letPass(key, 3_600);
      for (const node of nodes) {
        expect(await kindOf(node, key.secret)).toBe("rotated-out");
        expect(await kindOf(node, secret)).toBe("admitted");
      }
    });

    test("without overlap is refused on every node at once", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) await node.admit(key.secret);
      const secret = await rotate(key, 0);
      for (const node of nodes) {
        expect(await kindOf(node, key.secret)).toBe("rotated-out");
        expect(await kindOf(node, secret)).toBe("admitted");
      }
    });

    test("is refused at once when its overlap is ended, and so are those before it", async () => {
      const node = openNode();
      const key = await addKey();
      const second = await rotate(key, 3_600);
      const third = await rotate(key, 3_600);
      for (const secret of [key.secret, second, third]) expect(await kindOf(node, secret)).toBe("admitted");
      await database.db.transaction().execute(async (trx) => {
        await endOverlap(trx, key.id);
        await bumpKeyVersions(trx, { keyId: key.id });
      });
      expect([await kindOf(node, key.secret), await kindOf(node, second)]).toEqual([
        "rotated-out",
        "rotated-out",
      ]);
      expect(await kindOf(node, third)).toBe("admitted");
    });

    test("is one of five that may be good at once, and makes nobody wait long", async () => {
      const node = openNode();
      const key = await addKey();
      const secrets = [key.secret];
      for (let count = 0; count < 7; count += 1) secrets.push(await rotate(key, 3_600));
      const kinds = await Promise.all(secrets.map((secret) => kindOf(node, secret)));
      expect(kinds).toEqual([...Array(2).fill("rotated-out"), ...Array(6).fill("admitted")]);
      const crowd = Array.from({ length: 600 }, (_, index) => kindOf(node, secrets[2 + (index % 6)] ?? ""));
      const other = await addKey();
      expect(await kindOf(node, other.secret)).toBe("admitted");
      expect(new Set(await Promise.all(crowd))).toEqual(new Set(["admitted"]));
      expect(await countUses(key)).toBe(606);
    });

    test("spends the same limit as the new one", async () => {
      const node = openNode();
      const key = await addHeldKey({ limit: { quota: 10, windowSeconds: 60 } });
      const secret = await rotate(key, 3_600);
      const kinds = await Promise.all(
        Array.from({ length: 40 }, (_, index) => kindOf(node, index % 2 === 0 ? key.secret : secret)),
      );
      expect(kinds.filter((kind) => kind === "admitted")).toHaveLength(10);
      expect(await countUses(key)).toBe(10);
    });
  });
});

import { lockApiKey, revokeOldApiKeySecrets, rotateApiKey, updateApiKey } from "@latchkey/db/api-key-changes";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import { admissionKit, type TestKey } from "./admission.test-kit.ts";
import type { Admission } from "./admission.ts";

let database: TestDatabase;
let stopClock: StopClock;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  stopClock = await installStoppableClock(database);
});
afterAll(() => database.drop());

const { openNode, addKey } = admissionKit(() => database);

/** The methods of a node that tests call. */
type Node = Pick<Admission, "admit">;

/**
 * Opens a node on which every batch also contains another key. A key that is alone in its batch is counted by another
 * statement.
 */
function openSharedNode(): Node {
  const node = openNode();
  const other = addKey();
  other.catch(() => undefined); // `admit` awaits it and reports a failure.
  return {
    async admit(...request) {
      const { secret } = await other;
      let isAnswered = false;
      const verdict = node.admit(...request).finally(() => {
        isAnswered = true;
      });
      // A request that needs a lookup is counted in a later batch than the one in which it arrived.
      for (let batches = 0; !isAnswered && batches < 1_000; batches += 1)
        expect(await node.admit(secret)).toMatchObject({ kind: "admitted" });
      return await verdict;
    },
  };
}

async function applySettings(key: TestKey, settings: Partial<KeySettings>): Promise<void> {
  await database.db.transaction().execute(async (trx) => {
    await updateApiKey(trx, key, { settings: { ...defaultSettings, ...settings } });
    await bumpKeyVersions(trx, { keyId: key.id, windowSeconds: settings.limit?.windowSeconds });
  });
}

async function addKeyWith(settings: Partial<KeySettings>): Promise<TestKey> {
  const key = await addKey();
  await applySettings(key, settings);
  return key;
}

/** Has the same effect on a key as setting the database's clock forward, or backward if `seconds` is negative. */
async function advanceClock(key: TestKey, seconds: number): Promise<void> {
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
  return verdict.kind === "rejected" ? verdict.reason : verdict.kind;
}

/** Counts how many of this many concurrent requests are allowed. */
async function admitConcurrently(nodes: readonly Node[], secret: string, requests: number): Promise<number> {
  const verdicts = await Promise.all(
    Array.from({ length: requests }, (_, index) => (nodes[index % nodes.length] as Node).admit(secret)),
  );
  expect(new Set(verdicts.map(({ kind }) => kind)).difference(new Set(["admitted", "limited"]))).toEqual(
    new Set(),
  );
  return verdicts.filter(({ kind }) => kind === "admitted").length;
}

describe.each([
  { batches: "with no other key", openNode },
  { batches: "with other keys", openNode: openSharedNode },
])("in batches $batches", ({ openNode }) => {
  describe("a rate limit", () => {
    test("allows exactly its quota per window, of many concurrent requests on two nodes", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKeyWith({ limit: { quota: 20, windowSeconds: 60 } });
      expect(await admitConcurrently(nodes, key.secret, 1_000)).toBe(20);
      expect(await countUses(key)).toBe(20);
      expect(await admitConcurrently(nodes, key.secret, 100)).toBe(0);
      await advanceClock(key, 60);
      expect(await admitConcurrently(nodes, key.secret, 1_000)).toBe(20);
      expect(await countUses(key)).toBe(40);
    });

    test("reports the remaining requests, down to none, and the seconds until the reset", async () => {
      await stopClock(0);
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 3, windowSeconds: 60 } });
      const limit = { limit: { quota: 3, windowSeconds: 60 }, resetsInSeconds: 60 };
      for (const remaining of [2, 1, 0])
        expect(await node.admit(key.secret)).toMatchObject({
          kind: "admitted",
          limit: { ...limit, remaining },
        });
      expect(await node.admit(key.secret)).toEqual({
        kind: "limited",
        presented: { keyId: key.id, userId: key.userId, formerSecret: undefined },
        limit: { ...limit, remaining: 0 },
      });
    });

    test("does not change the last use when it rejects a request", async () => {
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 1, windowSeconds: 60 } });
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
      const key = await addKeyWith({ limit: { quota: 10, windowSeconds: 60 } });
      await node.admit(key.secret);
      const verdicts = await Promise.all(Array.from({ length: 12 }, () => node.admit(key.secret)));
      const left = verdicts.map((verdict) => ("limit" in verdict ? verdict.limit?.remaining : undefined));
      expect(left).toEqual([8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]);
    });

    test("allows a request after the reported time", async () => {
      await stopClock(0);
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 1, windowSeconds: 60 } });
      await node.admit(key.secret);
      await advanceClock(key, 20.5);
      const verdict = await node.admit(key.secret);
      expect(verdict).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 40 } });
      await advanceClock(key, 38);
      expect(await kindOf(node, key.secret)).toBe("limited");
      await advanceClock(key, 2);
      expect(await kindOf(node, key.secret)).toBe("admitted");
    });

    test("starts a window with the first request after the last window ended, not at fixed times", async () => {
      await stopClock(0);
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 2, windowSeconds: 60 } });
      await node.admit(key.secret);
      await advanceClock(key, 3_600 + 59);
      expect(await node.admit(key.secret)).toMatchObject({ limit: { remaining: 1, resetsInSeconds: 60 } });
      await advanceClock(key, 59);
      expect(await node.admit(key.secret)).toMatchObject({ limit: { remaining: 0, resetsInSeconds: 1 } });
      expect(await kindOf(node, key.secret)).toBe("limited");
    });

    test("is neither renewed nor extended when the clock is set back", async () => {
      await stopClock(0);
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 2, windowSeconds: 60 } });
      expect(await admitConcurrently([node], key.secret, 5)).toBe(2);
      await advanceClock(key, -3_600);
      expect(await node.admit(key.secret)).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 62 } });
      await advanceClock(key, 62);
      expect(await admitConcurrently([node], key.secret, 5)).toBe(2);
    });

    test("keeps the used requests of its window when it is edited, however often", async () => {
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 5, windowSeconds: 60 } });
      expect(await admitConcurrently([node], key.secret, 50)).toBe(5);
      for (const quota of [1, 4, 2, 5]) {
        await applySettings(key, { limit: { quota, windowSeconds: 60 } });
        expect(await admitConcurrently([node], key.secret, 5)).toBe(0);
      }
      await applySettings(key, { limit: { quota: 8, windowSeconds: 60 } });
      expect(await admitConcurrently([node], key.secret, 50)).toBe(3);
      await applySettings(key, { limit: null });
      expect(await admitConcurrently([node], key.secret, 50)).toBe(50);
    });

    test("ends its window no later than a window with the new length would end", async () => {
      await stopClock(0);
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 1, windowSeconds: 86_400 } });
      expect(await admitConcurrently([node], key.secret, 5)).toBe(1);
      await applySettings(key, { limit: { quota: 1, windowSeconds: 60 } });
      expect(await node.admit(key.secret)).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 60 } });
      await advanceClock(key, 60);
      expect(await admitConcurrently([node], key.secret, 5)).toBe(1);
    });

    test("is enforced when another transaction locks the row and the requests are resolved in the isolated batch", async () => {
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 3, windowSeconds: 60 } });
      await node.admit(key.secret);
      let requests: Promise<number> | undefined;
      await database.owner.transaction().execute(async (trx) => {
        await sql`select from key_counters where key_id = ${key.id} for update`.execute(trx);
        requests = admitConcurrently([node], key.secret, 10);
        // Longer than a statement waits for a row, so that the key is isolated.
        await sql`select pg_sleep(0.3)`.execute(trx);
      });
      expect(await requests).toBe(2);
      expect(await countUses(key)).toBe(3);
    });

    test("of one key does not affect another key in the same batch", async () => {
      const node = openNode();
      const [limited, free] = [await addKeyWith({ limit: { quota: 1, windowSeconds: 60 } }), await addKey()];
      for (const key of [limited, free]) await node.admit(key.secret);
      const verdicts = await Promise.all([limited, free, limited, free].map((key) => node.admit(key.secret)));
      expect(verdicts.map(({ kind }) => kind)).toEqual(["limited", "admitted", "limited", "admitted"]);
      expect([await countUses(limited), await countUses(free)]).toEqual([1, 3]);
    });
  });

  describe("an expiry", () => {
    test("is checked against the database's clock, even on a node that remembers the key as valid", async () => {
      const node = openNode();
      const expiresAt = new Date(Date.now() + 3_600_000);
      const unlimited = await addKeyWith({ expiresAt });
      const limited = await addKeyWith({ expiresAt, limit: { quota: 100_000, windowSeconds: 60 } });
      const kindsOn = async (where: Node) => [
        await kindOf(where, unlimited.secret),
        await kindOf(where, limited.secret),
      ];
      expect(await kindsOn(node)).toEqual(["admitted", "admitted"]);
      // Only the clock advances. No version changes.
      await stopClock(3_601);
      expect(await kindsOn(node)).toEqual(["expired", "expired"]);
      expect(await kindsOn(openNode())).toEqual(["expired", "expired"]);
    });

    test("of one key does not affect another key in the same batch", async () => {
      const node = openNode();
      const [ending, free] = [
        await addKeyWith({ expiresAt: new Date(Date.now() + 3_600_000) }),
        await addKey(),
      ];
      for (const key of [ending, free]) expect(await kindOf(node, key.secret)).toBe("admitted");
      await advanceClock(ending, 3_600);
      const kinds = await Promise.all([ending, free, ending].map((key) => kindOf(node, key.secret)));
      expect(kinds).toEqual(["expired", "admitted", "expired"]);
    });
  });

  describe("a disabled key", () => {
    test("is rejected on every node on the next request, and allowed again after it is enabled", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) expect(await kindOf(node, key.secret)).toBe("admitted");
      await applySettings(key, { isDisabled: true });
      for (const node of nodes) expect(await kindOf(node, key.secret)).toBe("disabled");
      await applySettings(key, {});
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
      const key = await addKeyWith(settings);
      // The first request looks the key up. The second counts it as a key that the node remembers.
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

  describe("IP ranges", () => {
    test("are enforced on every node on the next request, whatever the node remembers", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) expect(await kindOf(node, key.secret, "192.0.2.1")).toBe("admitted");
      await applySettings(key, { ipRanges: ["10.0.0.0/8", "2001:db8::/32"] });
      for (const node of nodes) {
        for (const address of ["192.0.2.1", "::1", undefined])
          expect(await kindOf(node, key.secret, address)).toBe("address");
        for (const address of ["10.1.2.3", "2001:db8::7"])
          expect(await kindOf(node, key.secret, address)).toBe("admitted");
      }
    });
  });

  describe("an old secret", () => {
    async function rotate(key: TestKey, overlapSeconds: number): Promise<string> {
      const { secret, start, hash } = createApiKey();
      await database.db.transaction().execute(async (trx) => {
        await lockApiKey(trx, key);
        await rotateApiKey(trx, key.id, { start, hash, overlapSeconds });
        await bumpKeyVersions(trx, { keyId: key.id });
      });
      return secret;
    }

    test("is valid in addition to the new one, as the same key, until its overlap ends", async () => {
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
          presented: { keyId: key.id, userId: key.userId, formerSecret: expect.any(String) },
        });
        expect(verdicts[1]).toMatchObject({
          presented: { keyId: key.id, userId: key.userId, formerSecret: undefined },
        });
      }
      expect(await countUses(key)).toBe(42);
      await advanceClock(key, 3_600);
      for (const node of nodes) {
        expect(await kindOf(node, key.secret)).toBe("rotated-out");
        expect(await kindOf(node, secret)).toBe("admitted");
      }
    });

    test("without overlap is rejected on every node on the next request", async () => {
      const nodes = [openNode(), openNode()];
      const key = await addKey();
      for (const node of nodes) await node.admit(key.secret);
      const secret = await rotate(key, 0);
      for (const node of nodes) {
        expect(await kindOf(node, key.secret)).toBe("rotated-out");
        expect(await kindOf(node, secret)).toBe("admitted");
      }
    });

    test("is rejected on the next request when the overlap is ended, and so are all earlier secrets", async () => {
      const node = openNode();
      const key = await addKey();
      const second = await rotate(key, 3_600);
      const third = await rotate(key, 3_600);
      for (const secret of [key.secret, second, third]) expect(await kindOf(node, secret)).toBe("admitted");
      await database.db.transaction().execute(async (trx) => {
        await revokeOldApiKeySecrets(trx, key.id);
        await bumpKeyVersions(trx, { keyId: key.id });
      });
      expect([await kindOf(node, key.secret), await kindOf(node, second)]).toEqual([
        "rotated-out",
        "rotated-out",
      ]);
      expect(await kindOf(node, third)).toBe("admitted");
    });

    test("is one of at most five valid old secrets, and does not delay other keys for long", async () => {
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

    test("uses the same rate limit as the new one", async () => {
      const node = openNode();
      const key = await addKeyWith({ limit: { quota: 10, windowSeconds: 60 } });
      const secret = await rotate(key, 3_600);
      const kinds = await Promise.all(
        Array.from({ length: 40 }, (_, index) => kindOf(node, index % 2 === 0 ? key.secret : secret)),
      );
      expect(kinds.filter((kind) => kind === "admitted")).toHaveLength(10);
      expect(await countUses(key)).toBe(10);
    });
  });
});

import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import {
  codesOf,
  count,
  hourly,
  patient,
  setUpVerifierTests,
  type TestIssuedKey,
  verificationOf,
  verify,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

const { addConsumer, addKeyspace, bumpKey, execute, hold, issueKey, openNode, readCounter } =
  setUpVerifierTests();

describe("exact", () => {
  test("credits of 1,000 allow exactly 1,000 of 5,000 concurrent requests on two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 1_000 });
    const codes = await Promise.all(
      Array.from({ length: 5_000 }, (_, index) => verify(nodes[index % 2] as Verifier, space, key)),
    );
    expect([count(codes, "VALID"), count(codes, "USAGE_EXCEEDED")]).toEqual([1_000, 4_000]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 1_000, credits: 0 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 5_000 });
  });

  test("windows that have ended are not stored", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space, { limits: [hourly(5)] });
    await execute(sql`
      update key_counters set windows = ${JSON.stringify({ removed: [1_000, 5] })} where key_id = ${key.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    expect(Object.keys((await readCounter(key.id))?.windows ?? {})).toEqual(["requests"]);
  });

  test("windows of limits that a key no longer has are not stored, and requests of one batch keep the windows of each other", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space);
    for (let round = 0; round < 20; round += 1) {
      const names = Array.from({ length: 5 }, (_, index) => `limit-${round}-${index}`);
      const limits = JSON.stringify(names.map((name) => hourly(9, name, false)));
      await execute(sql`update issued_keys set limits = ${limits} where id = ${key.id}`);
      await bumpKey(key.id);
      const codes = await Promise.all(
        names.map((name) => verify(node, space, key, { limits: [{ name, cost: undefined }] })),
      );
      expect(count(codes, "VALID")).toBe(5);
      expect(Object.keys((await readCounter(key.id))?.windows ?? {}).toSorted()).toEqual(names);
    }
  });

  test("a consumer's limit is shared by 20 keys, on two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const consumerId = await addConsumer(space, [hourly(50)]);
    const keys = await Promise.all(
      Array.from({ length: 20 }, () => issueKey(space, { consumerId, credits: 100 })),
    );
    const codes = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        verify(nodes[index % 2] as Verifier, space, keys[index % 20] as TestIssuedKey),
      ),
    );
    expect([count(codes, "VALID"), count(codes, "RATE_LIMITED")]).toEqual([50, 950]);
    const counters = await Promise.all(keys.map(({ id }) => readCounter(id)));
    expect(counters.reduce((sum, counter) => sum + 100 - (counter?.credits ?? 0), 0)).toBe(50);
    expect((await readCounter(consumerId))?.windows?.requests?.[1]).toBe(50);
  });

  test("mixed costs of two limits in one batch never exceed either", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space, { limits: [hourly(100, "tokens"), hourly(20, "exports", false)] });
    const codes = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        verify(node, space, key, {
          cost: 1 + (index % 7),
          limits: index % 3 === 0 ? [{ name: "exports", cost: 3 }] : [],
        }),
      ),
    );
    const windows = (await readCounter(key.id))?.windows;
    expect(windows?.tokens?.[1]).toBe(100);
    expect(windows?.exports?.[1]).toBeLessThanOrEqual(20);
    expect(windows?.exports?.[1]).toBe(
      3 * codes.filter((code, index) => code === "VALID" && index % 3 === 0).length,
    );
  });

  test("verifications and other requests share the window of the caller's limit", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    await execute(sql`
      update api_keys set limit_quota = 5, limit_window_seconds = 3600 where id = ${space.caller.id}`);
    await execute(sql`
      update key_counters set window_ends_at = now() + interval '1 minute', window_spent = 4
      where key_id = ${space.caller.id}`);
    const key = await issueKey(space);
    expect([await verify(node, space, key), await verify(node, space, key)]).toEqual(["VALID", "limited"]);
  });
});

describe("requests without meters", () => {
  test("are counted without locking their counters before", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space);
    // The node gets to know the facts and the database's time.
    expect(await verify(node, space, key)).toBe("VALID");
    const release = await hold(key);
    const pending = verify(node, space, key);
    const readWaiting = async () => {
      const { rows } = await execute(sql<{ query: string }>`
        select query from pg_stat_activity
        where datname = current_database() and application_name = 'latchkey verification' and wait_event_type = 'Lock'`);
      return rows.map(({ query }) => query.match(/\w+(?= as \(\s+(update|select counter))/)?.[0] ?? query);
    };
    await expect.poll(readWaiting).toEqual(["counted_issued_key"]);
    await release();
    expect(await pending).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 2 });
  });

  test("of disabled keys follow a change on another node, and count no use", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    await execute(sql`update issued_keys set disabled_at = now() where id = ${key.id}`);
    for (let round = 0; round < 3; round += 1) expect(await verify(node, space, key)).toBe("DISABLED");
    expect(await readCounter(key.id)).toMatchObject({ uses: 0 });
    await execute(sql`update issued_keys set disabled_at = null where id = ${key.id}`);
    await bumpKey(key.id);
    expect(await verify(node, space, key)).toBe("VALID");
  });

  test("spend credits that a key gets without a change of its version", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    for (let round = 0; round < 2; round += 1) expect(await verify(node, space, key)).toBe("VALID");
    await execute(
      sql`update key_counters set credits = 1, credits_refilled_at = now() where key_id = ${key.id}`,
    );
    expect(await verify(node, space, key)).toBe("VALID");
    expect(await verify(node, space, key)).toBe("USAGE_EXCEEDED");
    expect(await readCounter(key.id)).toMatchObject({ uses: 3, credits: 0 });
  });

  test("are counted exactly among requests with meters, with changes and without, on two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)] as const;
    const space = await addKeyspace();
    const plain = await Promise.all(Array.from({ length: 10 }, () => issueKey(space)));
    const metered = await issueKey(space, { credits: 500 });
    const changing = await issueKey(space);
    let admitted = 0;
    const expected = new Map<string, number>();
    const request = async (index: number) => {
      const own = [plain[index % 10], plain[(3 * index) % 10]] as [TestIssuedKey, TestIssuedKey];
      const keys = [...own, ...(index % 3 === 0 ? [metered] : []), ...(index % 4 === 0 ? [changing] : [])];
      if (index % 2 === 0) keys.reverse();
      const answer = await (nodes[index % 2] ?? nodes[0]).verify(space.caller.secret, {
        address: undefined,
        name: undefined,
        verifications: keys.map((key) => verificationOf(key)),
      });
      expect(codesOf(answer)).toEqual(keys.map(() => "VALID"));
      admitted += 1;
      for (const { id } of keys) expected.set(id, (expected.get(id) ?? 0) + 1);
    };
    const change = () => bumpKey(changing.id);
    for (let round = 0; round < 10; round += 1)
      await Promise.all([
        ...Array.from({ length: 40 }, (_, index) => request(40 * round + index)),
        ...(round % 2 === 0 ? [change(), change()] : []),
      ]);
    const counted = new Map<string, number | undefined>();
    for (const { id } of [...plain, metered, changing]) counted.set(id, (await readCounter(id))?.uses);
    expect(counted).toEqual(new Map([...counted.keys()].map((id) => [id, expected.get(id)])));
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: admitted });
  });
});

import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { beforeAll, describe, expect, test } from "vitest";
import { createApiKey } from "../key-format.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import { setUpVerifierTests, verificationOf, verify } from "./verifier.test-kit.ts";
import { withoutOutcome } from "./verifier-answer.ts";

const { addKey, addKeyspace, addKeyspaceTo, bumpKey, database, execute, issueKey, openNode, readCounter } =
  setUpVerifierTests();

let stopClock: StopClock;
beforeAll(async () => {
  stopClock = await installStoppableClock(database());
});

describe("one request", () => {
  test("counts the caller's use and what each key spends", async () => {
    const space = await addKeyspace();
    const [first, second] = [await issueKey(space, { credits: 5 }), await issueKey(space)];
    const verifications = [verificationOf(first, { cost: 2 }), verificationOf(second), verificationOf(first)];
    const answer = await openNode().verify(space.caller.secret, {
      address: undefined,
      name: undefined,
      verifications,
    });
    expect(answer.verdict).toMatchObject({ kind: "admitted", principal: { keyId: space.caller.id } });
    expect(answer.outcome).toMatchObject({
      kind: "verified",
      results: [
        { code: "VALID", remainingCredits: 3, key: { keyId: first.id, keyspaceId: space.keyspaceId } },
        { code: "VALID", remainingCredits: null, key: { keyId: second.id } },
        { code: "VALID", remainingCredits: 2 },
      ],
    });
    expect(await readCounter(first.id)).toMatchObject({ uses: 2, credits: 2 });
    expect(await readCounter(second.id)).toMatchObject({ uses: 1, credits: null });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 1 });
  });

  test("of a caller that is rejected or rate limited spends nothing", async () => {
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 5 });
    const node = openNode();
    await execute(sql`
      update api_keys set limit_quota = 1, limit_window_seconds = 3600 where id = ${space.caller.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    expect(await verify(node, space, key)).toBe("limited");
    await execute(sql`update users set disabled_at = now() where id = ${space.caller.userId}`);
    await bumpKey(space.caller.id);
    expect(await verify(node, space, key)).toBe("rejected");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 4 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 1 });
  });

  test("with a malformed key is rejected without a query, and an unknown one after a lookup", async () => {
    const failing = openNode({ connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" } });
    const request = { address: undefined, name: undefined, verifications: [] };
    expect((await failing.verify("lk_typo", request)).verdict).toMatchObject({ reason: "malformed" });
    const { secret } = await addKey();
    expect((await failing.verify(secret, request)).verdict).toMatchObject({ kind: "unavailable" });
    const space = await addKeyspace();
    await execute(sql`delete from api_keys where id = ${space.caller.id}`);
    expect((await openNode().verify(space.caller.secret, request)).verdict).toMatchObject({
      kind: "rejected",
      reason: "unknown",
    });
  });

  test("with an expired key is rejected, before and after the node remembers it", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    await execute(sql`
      update api_keys set expires_at = clock_timestamp() + interval '1 hour' where id = ${space.caller.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    await stopClock(3_601);
    expect(await verify(node, space, key)).toBe("rejected");
    expect(await verify(openNode(), space, key)).toBe("rejected");
  });

  test("is recognized by its key, without counting a use", async () => {
    const node = openNode();
    const space = await addKeyspace();
    expect([
      await node.recognize(space.caller.secret),
      await node.recognize(space.caller.secret),
      await node.recognize(createApiKey().secret),
      await node.recognize("lk_typo"),
    ]).toEqual([undefined, undefined, withoutOutcome.unknownKey, withoutOutcome.malformed]);
    const failing = openNode({ connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" } });
    expect(await failing.recognize(space.caller.secret)).toBe(withoutOutcome.unavailable);
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 0 });
  });

  test("marks the first use of the caller's new secret and of the key's", async () => {
    const space = await addKeyspace();
    const key = await issueKey(space);
    const ids = sql.join([space.caller.id, key.id]);
    await execute(sql`update key_counters set has_unused_secret = true where key_id in (${ids})`);
    const node = openNode();
    for (const code of [await verify(node, space, key), await verify(node, space, key)])
      expect(code).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ has_unused_secret: false, uses: 2 });
    expect(await readCounter(space.caller.id)).toMatchObject({ has_unused_secret: false, uses: 2 });
  });
});

describe("a key that the caller may not verify is not found", () => {
  test("without the permission, in another workspace, or elsewhere than the caller says", async () => {
    const node = openNode();
    const [space, other, viewed] = [
      await addKeyspace(),
      await addKeyspace(),
      await addKeyspace({ role: "viewer" }),
    ];
    const key = await issueKey(space, { credits: 1 });
    const answers = [
      await verify(node, other, key),
      await verify(node, viewed, await issueKey(viewed)),
      await verify(node, space, { secret: `acme_${randomBytes(24).toString("hex")}` }),
      await verify(node, space, key, { workspaceId: other.workspaceId }),
      await verify(node, space, key, { keyspaceId: await addKeyspaceTo(space.workspaceId) }),
    ];
    expect(answers).toEqual(Array.from({ length: 5 }, () => "NOT_FOUND"));
    expect(await readCounter(key.id)).toMatchObject({ uses: 0, credits: 1 });
    expect(await verify(node, space, key, { workspaceId: space.workspaceId })).toBe("VALID");
  });

  test("a key that two workspaces imported is verified in the caller's", async () => {
    const node = openNode();
    const [first, second] = [await addKeyspace(), await addKeyspace()];
    const secret = randomBytes(24).toString("hex");
    const [ofFirst, ofSecond] = [await issueKey(first, { secret }), await issueKey(second, { secret })];
    for (const space of [second, first, second]) expect(await verify(node, space, { secret })).toBe("VALID");
    expect([await readCounter(ofFirst.id), await readCounter(ofSecond.id)]).toMatchObject([
      { uses: 1 },
      { uses: 2 },
    ]);
  });

  test("the oldest of more than 16 keys with the same secret is found, of those that the caller may verify", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const secret = randomBytes(24).toString("hex");
    const oldest = await issueKey(space, { secret });
    for (let index = 0; index < 20; index += 1) await issueKey(await addKeyspace(), { secret });
    expect(await verify(node, space, { secret })).toBe("VALID");
    expect(await readCounter(oldest.id)).toMatchObject({ uses: 1 });
  });

  test("a key is found by the request after the one that did not find it", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const secret = randomBytes(24).toString("hex");
    expect(await verify(node, space, { secret })).toBe("NOT_FOUND");
    await issueKey(space, { secret });
    expect(await verify(node, space, { secret })).toBe("VALID");
    const elsewhere = await addKeyspaceTo(space.workspaceId);
    expect(await verify(node, space, { secret }, { keyspaceId: elsewhere })).toBe("NOT_FOUND");
  });
});

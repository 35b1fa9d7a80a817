import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { beforeAll, describe, expect, test } from "vitest";
import { digestKey } from "../key-format.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import {
  codesOf,
  hourly,
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
  verify,
} from "./verifier.test-kit.ts";

const { addConsumer, addKeyspace, bumpKey, bumpOwner, database, execute, issueKey, openNode } =
  setUpVerifierTests();

let stopClock: StopClock;
beforeAll(async () => {
  stopClock = await installStoppableClock(database());
});

describe("a change applies to the next request on every node", () => {
  const changes: readonly [
    name: string,
    change: (space: TestKeyspace, key: TestIssuedKey) => Promise<unknown>,
    code: string,
  ][] = [
    [
      "a key is disabled",
      async (_, { id }) => {
        await execute(sql`update issued_keys set disabled_at = now() where id = ${id}`);
        await bumpKey(id);
      },
      "DISABLED",
    ],
    ["a key is deleted", (_, { id }) => execute(sql`delete from issued_keys where id = ${id}`), "NOT_FOUND"],
    [
      "a keyspace is disabled",
      async ({ keyspaceId }) => {
        await execute(sql`update keyspaces set disabled_at = now() where id = ${keyspaceId}`);
        await bumpOwner(keyspaceId);
      },
      "DISABLED",
    ],
    [
      "a keyspace is deleted",
      ({ keyspaceId }) => execute(sql`delete from keyspaces where id = ${keyspaceId}`),
      "NOT_FOUND",
    ],
    [
      "a workspace is deleted",
      async ({ workspaceId }) => {
        await execute(sql`delete from keyspaces where workspace_id = ${workspaceId}`);
        await execute(sql`delete from workspaces where id = ${workspaceId}`);
      },
      "NOT_FOUND",
    ],
    [
      "the caller leaves the workspace",
      async ({ workspaceId, caller: { id } }) => {
        await execute(sql`delete from members where workspace_id = ${workspaceId}`);
        await bumpKey(id);
      },
      "NOT_FOUND",
    ],
    [
      "a key expires",
      async (_, { id }) => {
        await execute(sql`update issued_keys set expires_at = now() where id = ${id}`);
        await bumpKey(id);
      },
      "EXPIRED",
    ],
  ];

  test.each(changes)("%s", async (_, change, code) => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 100 });
    for (const node of nodes) expect(await verify(node, space, key)).toBe("VALID");
    await change(space, key);
    for (const node of nodes) expect(await verify(node, space, key)).toBe(code);
  });

  test.each([
    ["older", [0, 1]],
    ["newer", [1, 0]],
  ] as const)("a keyspace is disabled, and the key with %s facts is verified first", async (_, order) => {
    const node = openNode();
    const space = await addKeyspace();
    const keys = [await issueKey(space), await issueKey(space)] as const;
    for (let use = 0; use < 2; use += 1) expect(await verify(node, space, keys[0])).toBe("VALID");
    await execute(sql`update keyspaces set disabled_at = now() where id = ${space.keyspaceId}`);
    await bumpOwner(space.keyspaceId);
    expect(await verify(node, space, keys[1])).toBe("DISABLED");
    // The facts about both keys have different versions of the keyspace.
    const verifications = order.map((index) => verificationOf(keys[index]));
    const answer = await node.verify(space.caller.secret, {
      address: undefined,
      name: undefined,
      verifications,
    });
    expect(codesOf(answer)).toEqual(["DISABLED", "DISABLED"]);
  });

  test("an old secret is revoked before its overlap ends", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const { id } = await issueKey(space);
    const old = { secret: `acme_${randomBytes(24).toString("hex")}` };
    await execute(sql`
      insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
      values (${Buffer.from(digestKey(old.secret), "base64")}, ${space.workspaceId}, ${space.keyspaceId}, ${id}, 'acme_',
        now() + interval '1 hour')`);
    for (const node of nodes) expect(await verify(node, space, old)).toBe("VALID");
    await execute(sql`update retired_issued_secrets set good_until = '-infinity' where key_id = ${id}`);
    await bumpKey(id);
    for (const node of nodes) expect(await verify(node, space, old)).toBe("NOT_FOUND");
  });

  test("the caller's user is disabled", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const key = await issueKey(space);
    for (const node of nodes) expect(await verify(node, space, key)).toBe("VALID");
    await execute(sql`update users set disabled_at = now() where id = ${space.caller.userId}`);
    await bumpOwner(space.caller.userId);
    for (const node of nodes) expect(await verify(node, space, key)).toBe("rejected");
  });

  test("a consumer gets a limit", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const consumerId = await addConsumer(space, []);
    const key = await issueKey(space, { consumerId });
    for (const node of nodes) expect(await verify(node, space, key)).toBe("VALID");
    await execute(sql`update consumers set limits = ${JSON.stringify([hourly(1)])} where id = ${consumerId}`);
    await bumpOwner(consumerId);
    const codes = [];
    for (const node of nodes) codes.push(await verify(node, space, key));
    expect(codes).toEqual(["VALID", "RATE_LIMITED"]);
  });

  test("a key expires by the database's clock, without any change", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    await execute(
      sql`update issued_keys set expires_at = clock_timestamp() + interval '1 hour' where id = ${key.id}`,
    );
    expect(await verify(node, space, key)).toBe("VALID");
    await stopClock(3_601);
    expect(await verify(node, space, key)).toBe("EXPIRED");
  });
});

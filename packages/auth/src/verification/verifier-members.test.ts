import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { type PermissionQuery, parsePermissionQuery } from "./permission-query.ts";
import {
  hourly,
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
  verify,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

const { addKeyspace, bumpOwner, execute, hold, issueKey, openNode, readCounter } = setUpVerifierTests();

describe("a member without an API key", () => {
  const verifyAsMember = async (
    node: Verifier,
    { caller, workspaceId }: Pick<TestKeyspace, "caller" | "workspaceId">,
    key: Pick<TestIssuedKey, "secret">,
    change: Parameters<typeof verificationOf>[1] = {},
  ): Promise<string> => {
    const verification = { ...verificationOf(key, change), workspaceId };
    const outcome = await node.verifyWithoutKey(caller.userId, verification);
    return outcome?.kind === "verified" ? (outcome.results[0]?.code ?? "none") : (outcome?.kind ?? "none");
  };

  test("spends from the key, and counts no use of any API key", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 3, limits: [hourly(2)] });
    expect(await verifyAsMember(node, space, key, { cost: 2 })).toBe("VALID");
    expect(await verifyAsMember(node, space, key)).toBe("RATE_LIMITED");
    expect(await verifyAsMember(node, space, key, { cost: 0 })).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 1 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 0 });
  });

  test("finds no key of another workspace, whatever the member may do there", async () => {
    const node = openNode();
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const key = await issueKey(other);
    expect(await verifyAsMember(node, space, key)).toBe("NOT_FOUND");
    // Remembered facts don't change that.
    expect(await verify(node, other, key)).toBe("VALID");
    expect(await verifyAsMember(node, space, key)).toBe("NOT_FOUND");
  });

  test("sees a change to the key that another node has committed", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    expect(await verifyAsMember(node, space, key)).toBe("VALID");
    await execute(sql`update keyspaces set disabled_at = now() where id = ${space.keyspaceId}`);
    await bumpOwner(space.keyspaceId);
    expect(await verifyAsMember(node, space, key)).toBe("DISABLED");
  });

  test("verifies an API key with the permissions that its owner has in the workspace", async () => {
    const node = openNode();
    const space = await addKeyspace();
    expect(await verifyAsMember(node, space, space.caller, { cost: 0 })).toBe("VALID");
    const permissions = parsePermissionQuery("members:manage") as PermissionQuery;
    expect(await verifyAsMember(node, space, space.caller, { permissions })).toBe("INSUFFICIENT_PERMISSIONS");
  });

  test("gets no result while the database is unavailable", async () => {
    const node = openNode({ deadlineMs: 300 });
    const space = await addKeyspace();
    const key = await issueKey(space);
    const release = await hold(key);
    expect(await verifyAsMember(node, space, key)).toBe("none");
    await release();
    await expect.poll(() => verifyAsMember(node, space, key)).toBe("VALID");
  });
});

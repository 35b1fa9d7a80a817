import { startupOptions } from "@latchkey/db/connection";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { sql } from "kysely";
import pg from "pg";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { TestKey } from "../admission/admission.test-kit.ts";
import { createApiKey, digestKey } from "../key-format.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
import { KeyDirectory } from "./key-directory.ts";
import type { VerificationResult } from "./verification.ts";
import {
  codesOf,
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

const { addKey, addKeyspace, bumpKey, database, execute, openNode } = setUpVerifierTests();

let stopClock: StopClock;
beforeAll(async () => {
  stopClock = await installStoppableClock(database());
});

type Secret = Pick<TestIssuedKey, "secret">;

async function verifyIn(
  { caller, workspaceId }: TestKeyspace,
  key: Secret,
  node: Verifier,
): Promise<VerificationResult> {
  const verifications = [verificationOf(key, { workspaceId })];
  const answer = await node.verify(caller.secret, { address: undefined, name: undefined, verifications });
  const result = answer.outcome?.kind === "verified" ? answer.outcome.results[0] : undefined;
  if (!result) throw new Error(codesOf(answer).join());
  return result;
}

describe("an old secret of an API key during its overlap", () => {
  /** Rotates an API key. @returns its old and its current secret. */
  async function rotate({ id, secret }: TestKey, overlapHours: number): Promise<readonly [Secret, Secret]> {
    const current = createApiKey();
    await execute(sql`
      insert into retired_secrets (hash, key_id, start, retired_at, good_until)
      select hash, id, start, clock_timestamp(), clock_timestamp() + ${overlapHours} * interval '1 hour'
      from api_keys where id = ${id}`);
    await execute(sql`update api_keys set hash = ${current.hash} where id = ${id}`);
    await bumpKey(id);
    return [{ secret }, current];
  }

  test("has the expiry of its key, and is not found after its overlap", async () => {
    const space = await addKeyspace();
    const [old, current] = await rotate(await addKey(space.caller.userId), 1);
    const node = openNode();
    for (const secret of [old, current])
      expect(await verifyIn(space, secret, node)).toMatchObject({ code: "VALID", key: { expiresAt: null } });
    await stopClock(3_601);
    expect(await verifyIn(space, old, node)).toEqual({ code: "NOT_FOUND" });
    expect(await verifyIn(space, current, node)).toMatchObject({ code: "VALID" });
  });

  test("expires with its key, like the current one", async () => {
    const space = await addKeyspace();
    const key = await addKey(space.caller.userId);
    await execute(
      sql`update api_keys set expires_at = clock_timestamp() + interval '1 hour' where id = ${key.id}`,
    );
    const secrets = await rotate(key, 24);
    const nodes = [openNode(), openNode()] as const;
    for (const secret of secrets)
      expect(await verifyIn(space, secret, nodes[0])).toMatchObject({
        code: "VALID",
        key: { expiresAt: expect.any(Date) },
      });
    await stopClock(3_601);
    for (const node of nodes)
      for (const secret of secrets)
        expect(await verifyIn(space, secret, node)).toMatchObject({ code: "EXPIRED" });
    await stopClock(86_401);
    for (const node of nodes) expect(await verifyIn(space, secrets[0], node)).toEqual({ code: "NOT_FOUND" });
  });
});

describe("an API key that was idle when a node looked it up", () => {
  async function addIdle(): Promise<{ readonly space: TestKeyspace; readonly key: TestKey }> {
    const space = await addKeyspace();
    const key = await addKey();
    const { workspaceId } = space;
    await execute(sql`
      insert into members (workspace_id, user_id, role, created_at)
      values (${workspaceId}, ${key.userId}, 'viewer', now() - interval '31 days')`);
    await execute(
      sql`insert into api_key_policies (workspace_id, max_idle_days) values (${workspaceId}, 30)`,
    );
    await execute(sql`update api_keys set created_at = now() - interval '31 days' where id = ${key.id}`);
    return { space, key };
  }

  test("is valid as soon as its last use is written, although a use doesn't change its version", async () => {
    const { space, key } = await addIdle();
    const node = openNode();
    for (let round = 0; round < 2; round += 1)
      expect(await verifyIn(space, key, node)).toMatchObject({ code: "DISABLED" });
    await execute(sql`
      insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
      values (${key.id}, date_trunc('hour', now()), ${space.workspaceId}, 'admitted', 1)`);
    expect(await verifyIn(space, key, node)).toMatchObject({ code: "VALID" });
  });

  test("costs a lookup each time, also by the limit of lookups", async () => {
    const { space, key } = await addIdle();
    const { workspaceId } = space;
    const client = new pg.Client({
      ...testClientConfig(database().connection, "test"),
      options: startupOptions("latchkey_admission"),
    });
    await client.connect();
    onTestFinished(() => client.end());
    const directory = new KeyDirectory(1_000);
    const request = {
      digest: digestKey(space.caller.secret),
      address: undefined,
      verifications: [space.caller, key].map((one) => verificationOf(one, { workspaceId })),
    };
    expect(directory.countLookups(request)).toBe(3);
    await directory.find(client, [request]);
    expect(directory.countLookups(request)).toBe(1);
  });
});

import { isReadOnlyServer } from "@latchkey/db/sqlstate";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { patientMs } from "../admission/admission.test-kit.ts";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import {
  codesOf,
  patient,
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
  verify,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

const { addKey, addKeyspace, database, execute, failChanges, hold, issueKey, openNode, readCounter } =
  setUpVerifierTests();

describe("faults", () => {
  test("a locked key delays no other key, and is verified once it is free", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const [locked, free] = [await issueKey(space), await issueKey(space)];
    expect(await verify(node, space, locked)).toBe("VALID");
    const release = await hold(locked);
    const sent: string[] = [];
    onTestFinished(
      interceptStatements((statement) => {
        sent.push(statement);
        return undefined;
      }),
    );
    const pending = verify(node, space, locked);
    const other = await addKeyspace();
    expect(await verify(node, other, await issueKey(other))).toBe("VALID");
    expect(await verify(node, space, free)).toBe("VALID");
    // Later attempts wait for the lock too, so that another node that uses the key can't keep this one from it, but only briefly.
    await expect.poll(() => sent).toContain("begin; set local lock_timeout = 25");
    await release();
    expect(await pending).toBe("VALID");
    expect(await readCounter(locked.id)).toMatchObject({ uses: 2 });
  });

  describe("a locked key delays the others at most once", () => {
    const rounds = 20;

    /** A node, and what requests the next verification of one tenant on it. */
    type Measured = readonly [node: Verifier, requestNext: (round: number) => void];

    /**
     * The median duration of verifications of other tenants on each node, in milliseconds, each while a key of one tenant is to be verified. The
     * nodes take turns, so that a busy machine delays all of them.
     */
    async function measure(...nodes: readonly Measured[]): Promise<readonly number[]> {
      const others = await Promise.all(Array.from({ length: 4 }, () => addKeyspace()));
      const keys = await Promise.all(others.map((space) => issueKey(space)));
      const tookMs = nodes.map((): number[] => []);
      for (let round = 0; round < rounds; round += 1) {
        const [space, key] = [others[round % 4] as TestKeyspace, keys[round % 4] as TestIssuedKey];
        for (const [index, [node, requestNext]] of nodes.entries()) {
          requestNext(round);
          const startedAt = performance.now();
          expect(await verify(node, space, key)).toBe("VALID");
          tookMs[index]?.push(performance.now() - startedAt);
        }
      }
      return tookMs.map((times) => times.toSorted((one, other) => one - other)[rounds / 2] ?? Number.NaN);
    }

    test.each([
      ["while many requests wait for it", 1],
      ["even if other keys of its workspace are locked too", rounds],
    ])("%s", async (_, count) => {
      const results: Promise<string>[] = [];
      const add = async () => {
        const node = openNode(patient);
        const space = await addKeyspace();
        const keys = await Promise.all(Array.from({ length: count }, () => issueKey(space)));
        const request = (round: number) => {
          results.push(verify(node, space, keys[round % count] as TestIssuedKey));
        };
        return { keys, measured: [node, request] as const };
      };
      const [{ keys, measured: locked }, { measured: unlocked }] = [await add(), await add()];
      // Both nodes get to know the keys.
      await measure(locked, unlocked);
      const releases = [];
      for (const { id } of keys) releases.push(await hold({ id }));
      const [lockedMs = 0, unlockedMs = 0] = await measure(locked, unlocked);
      for (const release of releases) await release();
      // A verification that waited for the lock would take 100 ms more. One that doesn't takes a few times as long as without locks,
      // because the node also retries the requests with the locked key.
      expect(lockedMs).toBeLessThan(50 + 6 * unlockedMs);
      expect(new Set(await Promise.all(results))).toEqual(new Set(["VALID"]));
      const counters = await Promise.all(keys.map(({ id }) => readCounter(id)));
      expect(counters.reduce((sum, counter) => sum + (counter?.uses ?? 0), 0)).toBe(2 * rounds);
    });
  });

  test("a node uses no facts from before a database lost its latest changes, whose versions are reused", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const colleague = { caller: await addKey() };
    await execute(sql`
      insert into members (workspace_id, user_id, role)
      values (${space.workspaceId}, ${colleague.caller.userId}, 'member')`);
    const [key, kept] = [await issueKey(space), await issueKey(space)];
    for (const one of [key, kept]) expect(await verify(node, space, one)).toBe("VALID");
    expect(await verify(node, colleague, kept)).toBe("VALID");
    await database().setAvailable(false);
    await database().setAvailable(true);
    // The versions stay the same, as if they had been reused.
    await execute(sql`update issued_keys set disabled_at = now() where id = ${key.id}`);
    await execute(sql`update api_keys set disabled_at = now() where id = ${colleague.caller.id}`);
    expect([
      await verify(node, space, kept),
      await verify(node, space, key),
      await verify(node, colleague, kept),
    ]).toEqual(["VALID", "DISABLED", "rejected"]);
  });

  test("isAvailable is false while the database is unavailable or the node closes, and keys are valid once it is true", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    expect(await node.isAvailable()).toBe(true);
    await database().setAvailable(false);
    // The node is told shortly afterwards that its connection has ended.
    await expect.poll(() => node.isAvailable()).toBe(false);
    await database().setAvailable(true);
    // After a failed attempt to connect, the next one waits for a short backoff.
    await expect.poll(() => node.isAvailable()).toBe(true);
    expect(await verify(node, space, key)).toBe("VALID");
    await node.close();
    expect(await node.isAvailable()).toBe(false);
  });

  test("a node whose connection leads to a standby is unavailable, and recovers by itself once it leads to a primary", async () => {
    const failures: unknown[] = [];
    const node = openNode({ statementTimeoutMs: patientMs, onFailure: (error) => failures.push(error) });
    const space = await addKeyspace();
    const key = await issueKey(space);
    expect(await verify(node, space, key)).toBe("VALID");
    await database().setReadOnly(true);
    onTestFinished(() => database().setReadOnly(false));
    const verifyOnStandby = async () => {
      expect(await verify(node, space, key)).toBe("unavailable");
      return failures.some(isReadOnlyServer);
    };
    await expect.poll(verifyOnStandby).toBe(true);
    expect(await node.isAvailable()).toBe(false);
    await database().setReadOnly(false);
    await expect.poll(() => verify(node, space, key)).toBe("VALID");
    expect(await node.isAvailable()).toBe(true);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2 });
  });

  test("isAvailable doesn't wait for a table that only verifications read", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const [known, unknown] = [await issueKey(space), await issueKey(space)];
    expect(await verify(node, space, known)).toBe("VALID");
    const blocker = new pg.Client(testClientConfig(database().connection, "blocker"));
    await blocker.connect();
    onTestFinished(() => blocker.end());
    await blocker.query("begin; lock table issued_keys in access exclusive mode");
    const pending = verify(node, space, unknown);
    expect(await Promise.race([pending, node.isAvailable()])).toBe(true);
    await blocker.query("rollback");
    expect(await pending).toBe("VALID");
  });

  test("keys that a node knows stay known when its connection is lost, and their facts are read again", async () => {
    const node = openNode({ ...patient, maxWaiting: 10 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const [key, otherKey, third] = [await issueKey(space), await issueKey(other), await issueKey(other)];
    for (const one of [otherKey, third]) await verify(node, other, one);
    await verify(node, space, key);
    await execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'latchkey verification'`);
    // As if the change reused a version: facts from before are not used.
    await execute(sql`update issued_keys set disabled_at = now() where id = ${otherKey.id}`);
    await expect.poll(() => verify(node, other, third)).toBe("VALID");
    // The first caller may fill half of the queue, and the other one half of the rest. With unknown keys, they could fill half as much.
    const answers = [
      ...Array.from({ length: 5 }, () => verify(node, space, key)),
      ...Array.from({ length: 3 }, () => verify(node, other, otherKey)),
    ];
    expect(await Promise.all(answers)).toEqual([...Array(5).fill("VALID"), ...Array(3).fill("DISABLED")]);
  });

  test("a request that can't be decided by its deadline is unavailable, and the next ones are served", async () => {
    const node = openNode({ deadlineMs: 300 });
    const space = await addKeyspace();
    // On a busy machine, more requests can be unavailable, and each of them may spend a credit.
    const credits = 1_000;
    const key = await issueKey(space, { credits });
    const release = await hold(key);
    expect(await verify(node, space, key)).toBe("unavailable");
    await release();
    await expect.poll(() => verify(node, space, key)).toBe("VALID");
    expect((await readCounter(key.id))?.credits).toBeLessThan(credits);
  });

  test("nothing is spent by a transaction that fails, and the failure is reported", async () => {
    const failures: unknown[] = [];
    const node = openNode({ onFailure: (error) => failures.push(error) });
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 3 });
    expect(await verify(node, space, key)).toBe("VALID");
    await execute(
      sql`alter table key_counters add constraint no_spending check (credits is null or credits > 1) not valid`,
    );
    expect(await verify(node, space, key)).toBe("unavailable");
    await execute(sql`alter table key_counters drop constraint no_spending`);
    expect(failures).toHaveLength(1);
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 2 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 1 });
    expect(await verify(node, space, key)).toBe("VALID");
  });
});

describe.each([
  ["of keys with credits", 100],
  ["of keys without meters", null],
])("a batch %s that fails", (_keys, credits) => {
  const isMetered = credits !== null;

  /** Several tenants, each with a key, and one more whose key is broken. */
  async function addTenants() {
    const spaces = await Promise.all(Array.from({ length: 6 }, () => addKeyspace()));
    const keys = [];
    for (const space of spaces)
      keys.push({ space, key: await issueKey(space, isMetered ? { credits } : {}) });
    const [poisoned, ...others] = keys;
    if (!poisoned) throw new Error("There are no keys.");
    return { poisoned, others };
  }

  test.each([
    ["statement timeout", "57014", 1],
    ["deadlock", "40P01", 1],
    ["value out of range", "22003", 1],
    ["lock timeout", "55P03", 0],
  ])("because of one key's %s fails only the requests for this key", async (_, code, reported) => {
    const failures: unknown[] = [];
    // After a lock timeout, a request is repeated until its deadline.
    const node = openNode({ deadlineMs: 5_000, onFailure: (error) => failures.push(error) });
    const { poisoned, others } = await addTenants();
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    await failChanges(poisoned.key, code);
    const codes = await Promise.all(
      [...others.slice(0, 3), poisoned, ...others.slice(3)].map(({ space, key }) => verify(node, space, key)),
    );
    expect(codes).toEqual(["VALID", "VALID", "VALID", "unavailable", "VALID", "VALID"]);
    expect(failures).toHaveLength(reported);
    expect(await readCounter(poisoned.key.id)).toMatchObject({ uses: 1, credits: isMetered ? 99 : null });
    expect(await readCounter(poisoned.space.caller.id)).toMatchObject({ uses: 1 });
    for (const { space, key } of others) {
      expect(await readCounter(key.id)).toMatchObject({ uses: 2, credits: isMetered ? 98 : null });
      expect(await readCounter(space.caller.id)).toMatchObject({ uses: 2 });
    }
  });

  test("because a request can't be decided fails only this request", async () => {
    const node = openNode();
    const { poisoned, others } = await addTenants();
    for (const { space, key } of others) expect(await verify(node, space, key)).toBe("VALID");
    await execute(sql`update issued_keys set limits = 'null' where id = ${poisoned.key.id}`);
    const codes = await Promise.all([poisoned, ...others].map(({ space, key }) => verify(node, space, key)));
    expect(codes).toEqual(["unavailable", ...others.map(() => "VALID")]);
  });

  test("during its commit is unavailable as a whole, because it may have been committed", async () => {
    const failures: unknown[] = [];
    const node = openNode({ onFailure: (error) => failures.push(error) });
    const { poisoned, others } = await addTenants();
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    await failChanges(poisoned.key, "40P01", { when: "on commit" });
    const codes = await Promise.all([poisoned, ...others].map(({ space, key }) => verify(node, space, key)));
    expect(new Set(codes)).toEqual(new Set(["unavailable"]));
    expect(failures).toHaveLength(1);
    for (const { space, key } of others) expect(await verify(node, space, key)).toBe("VALID");
  });

  test("isn't caused by an unknown limit: only the request that names it is rejected, and spends nothing", async () => {
    const node = openNode();
    const { poisoned, others } = await addTenants();
    const [other] = others;
    if (!other) throw new Error("There is one tenant.");
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    const unknownLimit = { limits: [{ name: "unknown", cost: 1 }] };
    const verifications = [
      verificationOf(poisoned.key),
      verificationOf(other.key, unknownLimit), // The caller may not verify it.
      verificationOf(poisoned.key, unknownLimit),
    ];
    const { secret } = poisoned.space.caller;
    const [answer, ...codes] = await Promise.all([
      node.verify(secret, { address: undefined, name: undefined, verifications }),
      verify(node, poisoned.space, poisoned.key, unknownLimit),
      verify(node, poisoned.space, poisoned.key),
      ...others.map(({ space, key }) => verify(node, space, key)),
    ]);
    expect(answer.outcome).toEqual({ kind: "unknown-limit", verification: 2, limit: 0 });
    expect(codes).toEqual(["unknown-limit", "VALID", ...others.map(() => "VALID")]);
    expect(await readCounter(poisoned.key.id)).toMatchObject({ uses: 2, credits: isMetered ? 98 : null });
    expect(await readCounter(poisoned.space.caller.id)).toMatchObject({ uses: 4 });
  });

  test("leaves the requests of later batches alone", async () => {
    const node = openNode(patient);
    const { poisoned, others } = await addTenants();
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    await failChanges(poisoned.key, "40P01", { when: "on commit" });
    const { space, key } = poisoned;
    const many = Array.from({ length: 500 }, () => verificationOf(key));
    // The first request fills a batch.
    const request = { address: undefined, name: undefined, verifications: many };
    const [first, ...codes] = await Promise.all([
      node.verify(space.caller.secret, request).then(codesOf),
      ...others.map((other) => verify(node, other.space, other.key)),
    ]);
    expect(first).toEqual(["unavailable"]);
    expect(codes).toEqual(others.map(() => "VALID"));
  });
});

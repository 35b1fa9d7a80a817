import { sql } from "kysely";
import pg from "pg";
import { describe, expect, test, vi } from "vitest";
import {
  codesOf,
  count,
  nameRequest,
  patient,
  setUpVerifierTests,
  type TestIssuedKey,
  verificationOf,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

const { addKeyspace, bumpKey, bumpOwner, execute, issueKey, openNode, readCounter } = setUpVerifierTests();

describe("a request with a name", () => {
  test("spends once, however often it is sent, and has the current result", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 1 });
    const send = async (node: Verifier, name = nameRequest("retry")) =>
      codesOf(
        await node.verify(space.caller.secret, {
          address: undefined,
          name,
          verifications: [verificationOf(key)],
        }),
      )[0];
    for (const node of nodes) expect(await send(node)).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 0 });
    expect(await send(nodes[0] as Verifier, nameRequest("another"))).toBe("USAGE_EXCEEDED");
    expect(await send(nodes[0] as Verifier, nameRequest("retry", "another body"))).toBe("name-reused");
    await execute(sql`update issued_keys set disabled_at = now() where id = ${key.id}`);
    await bumpKey(key.id);
    for (const node of nodes) expect(await send(node)).toBe("DISABLED");
    // A rejected request spent nothing, so that its retry can.
    await execute(sql`update issued_keys set disabled_at = null where id = ${key.id}`);
    await execute(sql`update key_counters set version = version + 1, credits = 1 where key_id = ${key.id}`);
    expect([
      await send(nodes[1] as Verifier, nameRequest("another")),
      await send(nodes[1] as Verifier, nameRequest("another")),
    ]).toEqual(["VALID", "VALID"]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2, credits: 0 });
  });

  test("spends once if it is sent 50 times at the same time to two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 100 });
    const request = {
      address: undefined,
      name: nameRequest("concurrent"),
      verifications: [verificationOf(key)],
    };
    const codes = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, index) =>
          codesOf(await (nodes[index % 2] as Verifier).verify(space.caller.secret, request))[0],
      ),
    );
    expect(count(codes as string[], "VALID")).toBe(50);
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 99 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 50 });
  });

  test("is rejected if an earlier one in its batch has the same name and a different body, and affects no other request", async () => {
    const node = openNode(patient);
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const [key, otherKey] = [
      await issueKey(space, { credits: 100 }),
      await issueKey(other, { credits: 100 }),
    ];
    const send = async (caller: string, verified: TestIssuedKey, name?: ReturnType<typeof nameRequest>) =>
      codesOf(
        await node.verify(caller, { address: undefined, name, verifications: [verificationOf(verified)] }),
      )[0] as string;
    await Promise.all([send(space.caller.secret, key), send(other.caller.secret, otherKey)]);
    const queries = vi.spyOn(pg.Client.prototype, "query");
    const reused = Array.from({ length: 30 }, (_, index) =>
      ["body", "another body", "body"].map((body) =>
        send(space.caller.secret, key, nameRequest(`shared ${index}`, body)),
      ),
    );
    const others = Array.from({ length: 20 }, () => send(other.caller.secret, otherKey));
    expect(count(await Promise.all(others), "VALID")).toBe(20);
    const codes = await Promise.all(reused.flat());
    expect(count(codes, "VALID")).toBe(60);
    expect(count(codes, "name-reused")).toBe(30);
    expect(await readCounter(key.id)).toMatchObject({ credits: 100 - 1 - 30 });
    // No batch failed and was split into smaller ones.
    expect(
      count(
        queries.mock.calls.map(([query]) => String(query)),
        "begin",
      ),
    ).toBeLessThan(10);
    queries.mockRestore();
  });

  test("is rejected if its API key has used too many names within an hour, and spends nothing from the verified key", async () => {
    const nodes = [openNode({ maxNamedPerHour: 3 }), openNode({ maxNamedPerHour: 3 })];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 100 });
    const send = async (name: string | undefined, count: number, node = nodes[0] as Verifier) =>
      await node.verify(space.caller.secret, {
        address: undefined,
        name: name === undefined ? undefined : nameRequest(name),
        verifications: Array.from({ length: count }, () => verificationOf(key)),
      });
    expect(codesOf(await send("first", 2))).toEqual(["VALID", "VALID"]);
    expect(codesOf(await send("too many", 2, nodes[1]))).toEqual(["too-many-names"]);
    expect(codesOf(await send("second", 1))).toEqual(["VALID"]);
    const { outcome } = await send("third", 1, nodes[1]);
    expect(outcome).toEqual({ kind: "too-many-names", retryAfterSeconds: expect.any(Number) });
    expect(outcome).toMatchObject({
      retryAfterSeconds: expect.toSatisfy((n: number) => n > 3_500 && n <= 3_600),
    });
    // A retry and a request without a name use up nothing.
    expect(codesOf(await send("second", 1, nodes[1]))).toEqual(["VALID"]);
    expect(codesOf(await send(undefined, 1))).toEqual(["VALID"]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 4, credits: 96 });
    // Each of the six requests is a use of the caller's key.
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 6 });
    await execute(sql`
      update key_counters set windows = jsonb_build_object('idempotency-keys', jsonb_build_array(1, 3))
      where key_id = ${space.caller.id}`);
    expect(codesOf(await send("third", 1))).toEqual(["VALID"]);
  });

  test("spends from one of two keys with the same secret, even if the caller loses and regains access to it", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const [older, space] = [await addKeyspace(), await addKeyspace()];
    const first = await issueKey(older, { credits: 9 });
    const second = await issueKey(space, { secret: first.secret, credits: 9 });
    const { userId } = space.caller;
    const setRole = async (role: string) => {
      await execute(sql`
        insert into members (workspace_id, user_id, role) values (${older.workspaceId}, ${userId}, ${role})
        on conflict (workspace_id, user_id) do update set role = excluded.role`);
      await bumpOwner(userId);
    };
    const send = async (node: Verifier) => {
      const request = {
        address: undefined,
        name: nameRequest("two keys"),
        verifications: [verificationOf(first)],
      };
      const { outcome } = await node.verify(space.caller.secret, request);
      const [result] = outcome?.kind === "verified" ? outcome.results : [];
      return result?.code === "VALID" ? result.key.keyId : result?.code;
    };
    for (const [role, key] of [
      ["member", first],
      ["viewer", second],
      ["member", first],
    ] as const) {
      await setRole(role);
      for (const node of nodes) expect(await send(node)).toBe(key.id);
      const { rows } = await execute(sql`select answer from idempotency_records where user_id = ${userId}`);
      expect(rows).toEqual([{ answer: { spent: [first.id] } }]);
    }
    expect(await readCounter(first.id)).toMatchObject({ uses: 1, credits: 8 });
    expect(await readCounter(second.id)).toMatchObject({ uses: 0, credits: 9 });
  });

  test("is not known after an hour", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 9 });
    const send = async (body: string) =>
      codesOf(
        await node.verify(space.caller.secret, {
          address: undefined,
          name: nameRequest("old", body),
          verifications: [verificationOf(key)],
        }),
      )[0];
    expect(await send("first")).toBe("VALID");
    await execute(sql`
      update idempotency_records set created_at = now() - interval '61 minutes' where user_id = ${space.caller.userId}`);
    expect([await send("second"), await send("second"), await send("first")]).toEqual([
      "VALID",
      "VALID",
      "name-reused",
    ]);
    expect(await readCounter(key.id)).toMatchObject({ credits: 7 });
  });

  test("two users can use the same name", async () => {
    const node = openNode();
    for (let index = 0; index < 2; index += 1) {
      const space = await addKeyspace();
      const key = await issueKey(space, { credits: 5 });
      const request = { address: undefined, name: nameRequest("same"), verifications: [verificationOf(key)] };
      await node.verify(space.caller.secret, request);
      expect(await readCounter(key.id)).toMatchObject({ credits: 4 });
    }
  });
});

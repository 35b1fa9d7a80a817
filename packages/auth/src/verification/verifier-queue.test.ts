import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { count, patient, setUpVerifierTests, verificationOf, verify } from "./verifier.test-kit.ts";

const { addKey, addKeyspace, issueKey, openNode, readCounter } = setUpVerifierTests();

describe("a request", () => {
  test("waits only if its user has fewer than 60,000 verifications pending", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space);
    const verifications = Array.from({ length: 100 }, () => verificationOf(key));
    const request = { address: undefined, name: undefined, verifications };
    const answers = await Promise.all(
      Array.from({ length: 610 }, () => node.verify(space.caller.secret, request)),
    );
    expect(answers.filter(({ verdict }) => verdict.kind === "unavailable")).toHaveLength(10);
    expect(await readCounter(key.id)).toMatchObject({ uses: 60_000 });
    expect(await verify(node, space, key)).toBe("VALID");
  });

  test("is answered long before a flood of another user with several keys", async () => {
    const node = openNode(patient);
    const [space, flooded] = [await addKeyspace(), await addKeyspace()];
    const [key, floodedKey] = [await issueKey(space), await issueKey(flooded)];
    const callers = [flooded.caller];
    for (let added = 0; added < 4; added += 1) callers.push(await addKey(flooded.caller.userId));
    // Each key is known, as for a user who has sent requests before.
    for (const caller of [...callers, space.caller]) {
      const known = { caller };
      await verify(node, known, floodedKey);
    }
    const verifications = Array.from({ length: 100 }, () => verificationOf(floodedKey));
    const request = { address: undefined, name: undefined, verifications };
    let floodAnswers = 0;
    const flood = Array.from({ length: 200 }, async (_, index) => {
      await node.verify(callers[index % callers.length]?.secret ?? "", request);
      floodAnswers += 1;
    });
    expect(await verify(node, space, key)).toBe("VALID");
    expect(floodAnswers).toBeLessThan(20);
    await Promise.all(flood);
  });

  test("of one user waits only if the user has fewer pending requests than places are free", async () => {
    const node = openNode({ ...patient, maxWaiting: 10 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const [key, otherKey] = [await issueKey(space), await issueKey(other)];
    const callers = [space.caller, await addKey(space.caller.userId)] as const;
    for (const caller of callers) await verify(node, { caller }, key);
    await verify(node, other, otherKey);
    const [flood, others] = [
      Array.from({ length: 20 }, (_, index) =>
        verify(node, { caller: callers[index % 2 === 0 ? 0 : 1] }, key),
      ),
      Array.from({ length: 3 }, () => verify(node, other, otherKey)),
    ];
    expect(count(await Promise.all(flood), "unavailable")).toBe(15);
    expect(await Promise.all(others)).toEqual(Array.from({ length: 3 }, () => "VALID"));
  });

  test("with an unknown key to verify waits only while half of the queue is free for others", async () => {
    const node = openNode({ ...patient, maxWaiting: 10 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const key = await issueKey(space);
    const floods = [other.caller, await addKey(), await addKey()];
    for (const caller of [space.caller, ...floods]) await verify(node, { caller }, key);
    const unknown = { secret: `acme_${randomBytes(24).toString("hex")}` };
    const [flood, known] = [
      floods.flatMap((caller) => Array.from({ length: 4 }, () => verify(node, { caller }, unknown))),
      Array.from({ length: 3 }, () => verify(node, space, key)),
    ];
    expect(count(await Promise.all(flood), "unavailable")).toBe(7);
    expect(await Promise.all(known)).toEqual(Array.from({ length: 3 }, () => "VALID"));
  });

  test("with an unknown key to verify leaves room for another user's, however many one user sends", async () => {
    const node = openNode({ ...patient, maxWaiting: 12 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    for (const { caller } of [space, other]) await verify(node, { caller }, await issueKey(space));
    const unknown = { secret: `acme_${randomBytes(24).toString("hex")}` };
    const key = await issueKey(space);
    const [flood, first] = [
      Array.from({ length: 10 }, () => verify(node, other, unknown)),
      verify(node, space, key),
    ];
    expect(await first).toBe("VALID");
    expect(count(await Promise.all(flood), "unavailable")).toBe(7);
  });
});

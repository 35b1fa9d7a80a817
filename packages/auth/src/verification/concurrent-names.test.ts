import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import type { TestKey } from "../admission/admission.test-kit.ts";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import {
  codesOf,
  nameRequest,
  patient,
  setUpVerifierTests,
  type TestIssuedKey,
  verificationOf,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// Two API keys of one user send one name. If their requests find different keys, no counter that both lock makes them take turns.

const { addKey, addKeyspace, bumpKey, execute, issueKey, openNode, readCounter } = setUpVerifierTests();

const send = async (node: Verifier, caller: TestKey, key: TestIssuedKey, body: string) =>
  codesOf(
    await node.verify(caller.secret, {
      address: undefined,
      name: nameRequest("shared", body),
      verifications: [verificationOf(key)],
    }),
  )[0];

/**
 * Lets neither of the next two requests continue before both have looked for a record of their name, or Postgres has kept one of them
 * from it until its lock timeout.
 */
function holdUntilBothHaveLooked(): void {
  const bothHaveLooked = Promise.withResolvers<void>();
  let [looking, looked] = [0, 0];
  onTestFinished(
    interceptStatements((statement, client) => {
      if (statement !== "verify-find-records" || looking === 2) return undefined;
      looking += 1;
      // Postgres has executed the statement when it answers the next one.
      const onAnswer = () => {
        looked += 1;
        if (looked === 2) bothHaveLooked.resolve();
      };
      void client.query("select").then(onAnswer, onAnswer);
      return bothHaveLooked.promise;
    }),
  );
}

test("one of two requests with a name and different bodies is rejected and spends nothing from the verified keys", async () => {
  const nodes = [openNode(patient), openNode(patient)] as const;
  const space = await addKeyspace();
  const callers = [space.caller, await addKey(space.caller.userId)] as const;
  const keys = [await issueKey(space, { credits: 5 }), await issueKey(space, { credits: 5 })] as const;
  const sendOne = (index: 0 | 1) => send(nodes[index], callers[index], keys[index], `body ${index}`);
  holdUntilBothHaveLooked();
  const codes = await Promise.all([sendOne(0), sendOne(1)]);
  expect(codes.toSorted()).toEqual(["VALID", "name-reused"]);
  // A retry of each gets the same, and spends nothing.
  expect([await sendOne(0), await sendOne(1)]).toEqual(codes);
  for (const [index, code] of codes.entries()) {
    const isValid = code === "VALID";
    expect(await readCounter(keys[index]?.id ?? "")).toMatchObject({
      uses: isValid ? 1 : 0,
      credits: isValid ? 4 : 5,
    });
    expect(await readCounter(callers[index]?.id ?? "")).toMatchObject({ uses: 2 });
  }
});

test.each([
  { hasRecord: false, requests: "first requests" },
  { hasRecord: true, requests: "retries" },
])(
  "two $requests with one name and body that reach different copies of a key spend from one of them",
  async ({ hasRecord }) => {
    const nodes = [openNode(patient), openNode(patient)] as const;
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const { userId } = space.caller;
    await execute(sql`
    insert into members (workspace_id, user_id, role) values (${other.workspaceId}, ${userId}, 'member')`);
    const callers = [space.caller, await addKey(userId)] as const;
    for (const [index, { workspaceId }] of [space, other].entries())
      await execute(sql`
      update api_keys set workspace_ids = array[${workspaceId}]::uuid[] where id = ${callers[index]?.id}`);
    const own = await issueKey(space, { credits: 5 });
    const copies = [own, await issueKey(other, { secret: own.secret, credits: 5 })] as const;
    const sendOne = (index: 0 | 1) => send(nodes[index], callers[index], own, "body");
    const setDisabled = async (isDisabled: boolean) => {
      await execute(sql`
      update issued_keys set disabled_at = ${isDisabled ? sql`now()` : sql`null`} where id = ${own.id}`);
      await bumpKey(own.id);
    };
    await setDisabled(hasRecord);
    // The record says that nothing was spent.
    if (hasRecord) expect(await send(openNode(patient), callers[0], own, "body")).toBe("DISABLED");
    await setDisabled(false);
    holdUntilBothHaveLooked();
    expect(await Promise.all([sendOne(0), sendOne(1)])).toEqual(["VALID", "VALID"]);
    const uses = await Promise.all(copies.map(async ({ id }) => (await readCounter(id))?.uses));
    expect(uses.toSorted()).toEqual([0, 1]);
  },
);

import { type RawBuilder, sql } from "kysely";
import { beforeEach, describe, expect, test } from "vitest";
import { interceptStatements } from "./intercept-statements.test-kit.ts";
import {
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verify as verifyKey,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// The facts about an old secret are checked although it is not found. Otherwise, a node would remember outdated ones until it restarts,
// and each batch with such a secret would first count nothing.

const { addKeyspace, bumpKey, bumpOwner, execute, issueKey, openNode } = setUpVerifierTests();

const lookup = "verify-find-issued-keys";
const counted = ["begin", "verify-count", "commit"];

/** The names, or the texts, of the statements that verifiers sent since the last call of {@link verify}. */
let sent: string[] = [];

beforeEach(() =>
  interceptStatements((statement) => {
    sent.push(statement);
    return undefined;
  }),
);

async function verify(node: Verifier, space: TestKeyspace, key: TestIssuedKey): Promise<string> {
  sent = [];
  return await verifyKey(node, space, key);
}

/** A key in use, and a node that remembers its caller, and the time. */
async function prepare() {
  const space = await addKeyspace();
  const [warm, key] = [await issueKey(space), await issueKey(space)];
  const node = openNode();
  await verify(node, space, warm);
  return { space, key, node, use: () => verify(node, space, key) };
}

/** Replaces the secret of a key. Its overlap has ended. */
async function retire({ id }: TestIssuedKey, goodUntil: RawBuilder<unknown>): Promise<void> {
  await execute(sql`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    select hash, workspace_id, keyspace_id, id, start, ${goodUntil} from issued_keys where id = ${id}`);
  await execute(sql`update issued_keys set hash = sha256(hash) where id = ${id}`);
  await bumpKey(id);
}

describe.each([
  ["that was revoked", sql`'-infinity'::timestamptz`],
  ["whose overlap has ended", sql`now() - interval '1 minute'`],
])("an old secret %s", (_which, goodUntil) => {
  test.each([
    ["its key", ({ id }: TestIssuedKey) => bumpKey(id)],
    ["its keyspace", (_key: TestIssuedKey, { keyspaceId }: TestKeyspace) => bumpOwner(keyspaceId)],
  ])("is looked up once after a change of %s", async (_what, change) => {
    const { space, key, use } = await prepare();
    await retire(key, goodUntil);
    for (const expected of [lookup, "verify-count"]) {
      expect(await use()).toBe("NOT_FOUND");
      expect(sent).toContain(expected);
    }
    await change(key, space);
    expect(await use()).toBe("NOT_FOUND");
    expect(sent).toContain(lookup);
    expect(await use()).toBe("NOT_FOUND");
    expect(sent).toEqual(counted);
  });

  test.each([
    ["", {}],
    [", with credits,", { credits: 5 }],
  ])("is the secret of a key%s that is imported after its own key was deleted", async (_which, settings) => {
    const { space, key, node, use } = await prepare();
    await retire(key, goodUntil);
    expect(await use()).toBe("NOT_FOUND");
    await execute(sql`delete from retired_issued_secrets where key_id = ${key.id}`);
    await execute(sql`delete from issued_keys where id = ${key.id}`);
    const imported = await issueKey(space, { secret: key.secret, ...settings });
    for (const each of [node, openNode()]) expect(await verify(each, space, imported)).toBe("VALID");
  });
});

import { type RawBuilder, sql } from "kysely";
import { beforeEach, describe, expect, test } from "vitest";
import { interceptStatements } from "../intercept-statements.test-kit.ts";
import { type PermissionQuery, parsePermissionQuery } from "./permission-query.ts";
import type { Verification } from "./verification.ts";
import {
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
  verify as verifyKey,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

// What a node remembers about a key without meters after its first use.

const { addKeyspace, bumpKey, execute, hold, issueKey, openNode, readCounter } = setUpVerifierTests();

const lookup = "verify-find-issued-keys";
const counted = ["begin", "verify-count", "commit"];
/** Requires a permission that keys of these tests don't have. */
const insufficient = { permissions: parsePermissionQuery("documents.read") as PermissionQuery };
const decided = ["begin", "verify-lock", "verify-write", "verify-add-uses", "commit"];

/** The names, or the texts, of the statements that verifiers sent since the last call of {@link verify}. */
let sent: string[] = [];
/** Called when a commit is sent. The result of the commit arrives after the promise resolves. */
let onCommit: () => Promise<unknown> | undefined;

beforeEach(() => {
  onCommit = () => undefined;
  return interceptStatements((statement) => {
    sent.push(statement);
    return statement === "commit" ? onCommit() : undefined;
  });
});

async function verify(node: Verifier, space: TestKeyspace, key: TestIssuedKey): Promise<string> {
  sent = [];
  return await verifyKey(node, space, key);
}

/** A key that was never used, and a node that remembers its caller, and the time. */
async function prepare() {
  const space = await addKeyspace();
  const [warm, key] = [await issueKey(space), await issueKey(space, { isInUse: false })];
  const node = openNode();
  await verify(node, space, warm);
  return { space, key, node, verify: () => verify(node, space, key) };
}

async function disable({ id }: TestIssuedKey): Promise<void> {
  await execute(sql`update issued_keys set disabled_at = now() where id = ${id}`);
  await bumpKey(id);
}

test("the second use of a key is counted in one statement, without a lookup", async () => {
  const { key, verify } = await prepare();
  expect(await verify()).toBe("VALID");
  expect(sent).toEqual([lookup, ...decided]);
  for (let use = 0; use < 2; use += 1) {
    expect(await verify()).toBe("VALID");
    expect(sent).toEqual(counted);
  }
  expect(await readCounter(key.id)).toMatchObject({ uses: 3, isInUse: true });
});

describe("the second use of a new secret takes no lookup,", () => {
  const markUnused = ({ id }: TestIssuedKey) =>
    execute(sql`update key_counters set has_unused_secret = true where key_id = ${id}`);

  test("if the key has no meters", async () => {
    const { key, verify } = await prepare();
    await markUnused(key);
    expect(await verify()).toBe("VALID");
    expect(sent).toEqual([lookup, ...decided]);
    expect(await verify()).toBe("VALID");
    expect(sent).toEqual(counted);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2, has_unused_secret: false });
  });

  test("if the key has credits", async () => {
    const { space, node } = await prepare();
    const key = await issueKey(space, { credits: 2 });
    await markUnused(key);
    const codes: string[] = [];
    for (const expected of [[lookup], [], []]) {
      codes.push(await verify(node, space, key));
      expect(sent.filter((name) => name === lookup)).toEqual(expected);
    }
    expect(codes).toEqual(["VALID", "VALID", "USAGE_EXCEEDED"]);
  });

  test("if another node used it first, and has the same effect", async () => {
    const { space, key, node, verify: use } = await prepare();
    await markUnused(key);
    expect(await verifyKey(node, space, key, insufficient)).toBe("INSUFFICIENT_PERMISSIONS");
    expect(await verify(openNode(), space, key)).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, has_unused_secret: false });
    for (const expected of [decided, counted]) {
      expect(await use()).toBe("VALID");
      expect(sent).toEqual(expected);
    }
    expect(await readCounter(key.id)).toMatchObject({ uses: 3, has_unused_secret: false, isInUse: true });
  });

  test("and a secret that replaced it since is unused", async () => {
    const { key, verify } = await prepare();
    await markUnused(key);
    expect(await verify()).toBe("VALID");
    await bumpKey(key.id);
    await markUnused(key);
    expect(await verify()).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 2, has_unused_secret: false });
  });
});

describe("a key that was never used is rejected without its counter being locked,", () => {
  const set = (change: RawBuilder<unknown>) => async (key: TestIssuedKey) => {
    await execute(sql`update issued_keys set ${change} where id = ${key.id}`);
    await bumpKey(key.id);
  };
  const expire = set(sql`expires_at = now() - interval '1 minute'`);

  test.each<[string, (key: TestIssuedKey) => Promise<void>, Partial<Verification>, string]>([
    ["it is disabled", disable, {}, "DISABLED"],
    ["it has expired", expire, {}, "EXPIRED"],
    ["it has expired, and the cost is 0", expire, { cost: 0 }, "EXPIRED"],
    ["the IP address is forbidden", set(sql`ip_ranges = '{192.0.2.0/24}'`), {}, "FORBIDDEN"],
    ["it lacks permissions", async () => undefined, insufficient, "INSUFFICIENT_PERMISSIONS"],
  ])("if %s", async (_what, change, verification, code) => {
    const { space, key, node } = await prepare();
    await execute(sql`update key_counters set has_unused_secret = true where key_id = ${key.id}`);
    await change(key);
    const release = await hold(key);
    sent = [];
    for (let turn = 0; turn < 2; turn += 1)
      expect(await verifyKey(node, space, key, verification)).toBe(code);
    expect(sent).toEqual([lookup, ...counted, ...counted]);
    await release();
    expect(await readCounter(key.id)).toMatchObject({ uses: 0, has_unused_secret: true, isInUse: false });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 3 });
  });

  test("and the change that makes it valid is noticed", async () => {
    const { key, verify: use } = await prepare();
    await expire(key);
    for (let turn = 0; turn < 2; turn += 1) expect(await use()).toBe("EXPIRED");
    await set(sql`expires_at = null`)(key);
    expect(await use()).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, isInUse: true });
  });

  test("and a balance that it gets is in its result", async () => {
    const { space, key, node, verify: use } = await prepare();
    await expire(key);
    expect(await use()).toBe("EXPIRED");
    await execute(sql`update key_counters set credits = 7 where key_id = ${key.id}`);
    const { outcome } = await node.verify(space.caller.secret, {
      address: undefined,
      name: undefined,
      verifications: [verificationOf(key)],
    });
    expect(outcome).toMatchObject({ results: [{ code: "EXPIRED", remainingCredits: 7 }] });
  });
});

test("a key that was verified with cost 0 before is counted in one statement from its second use", async () => {
  const { space, key, node, verify } = await prepare();
  expect(await verifyKey(node, space, key, { cost: 0 })).toBe("VALID");
  expect(await verify()).toBe("VALID");
  expect(sent).toEqual(decided);
  expect(await verify()).toBe("VALID");
  expect(sent).toEqual(counted);
});

test("a key that another node uses first is counted in one statement from its second use on this node", async () => {
  const { space, key, node, verify: verifyHere } = await prepare();
  await verifyKey(node, space, key, { cost: 0 });
  expect(await verify(openNode(), space, key)).toBe("VALID");
  expect(await verifyHere()).toBe("VALID");
  expect(sent).toEqual(decided);
  expect(await verifyHere()).toBe("VALID");
  expect(sent).toEqual(counted);
  expect(await readCounter(key.id)).toMatchObject({ uses: 3, isInUse: true });
});

test("a change of the key after its first use is noticed by the second one", async () => {
  const { key, verify } = await prepare();
  expect(await verify()).toBe("VALID");
  await disable(key);
  expect(await verify()).toBe("DISABLED");
  expect(await readCounter(key.id)).toMatchObject({ uses: 1, isInUse: false });
});

test("a change of the key before the commit of its first use is answered is noticed by the second one", async () => {
  const { space, key, node, verify } = await prepare();
  onCommit = () => {
    onCommit = () => undefined;
    // Waits for the counter, which the transaction has locked.
    return disable(key);
  };
  expect(await verify()).toBe("VALID");
  expect(await readCounter(key.id)).toMatchObject({ uses: 1, isInUse: false });
  expect(await verify()).toBe("DISABLED");
  expect(await verify()).toBe("DISABLED");
  // The next one of the enabled key is a first use again.
  await execute(sql`update issued_keys set disabled_at = null where id = ${key.id}`);
  await bumpKey(key.id);
  expect(await verifyKey(node, space, key)).toBe("VALID");
  expect(await verify()).toBe("VALID");
  expect(sent).toEqual(counted);
});

test("a row that is missing, although the node remembers it, is added by the next use", async () => {
  const { key, verify } = await prepare();
  for (let use = 0; use < 2; use += 1) expect(await verify()).toBe("VALID");
  await execute(sql`
    with ended as (delete from issued_key_uses where key_id = ${key.id} returning use_count)
    update key_counters set use_count = key_counters.use_count + ended.use_count from ended where key_id = ${key.id}`);
  expect(await verify()).toBe("VALID");
  expect(sent).toEqual([...counted, ...decided]);
  expect(await verify()).toBe("VALID");
  expect(sent).toEqual(counted);
  expect(await readCounter(key.id)).toMatchObject({ uses: 4, isInUse: true });
});

test("after the connection was lost, the key is looked up again", async () => {
  const { space, key, node, verify } = await prepare();
  expect(await verify()).toBe("VALID");
  await execute(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'latchkey verification'`);
  sent = [];
  // On a busy machine, the first attempts can exceed their deadline after the lookup.
  await expect.poll(() => verifyKey(node, space, key)).toBe("VALID");
  expect(sent).toContain(lookup);
});

import { once } from "node:events";
import { access, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, createKey, deleteKey, readUsageCount, signIn, signUp } from "../support/account.ts";
import { runCommandInProcess } from "../support/command.ts";
import { open } from "../support/inspection.ts";
import {
  callApi,
  createKeyspace,
  type IssuedKey,
  issueKey,
  type Keyspace,
  pathOf,
} from "../support/keyspace.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo, eventually, findPostmaster } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { type ProductNode, runCommand, spawnCommand } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Backs up an instance whose server runs under load, and restores the backup elsewhere.

let instance: TestInstance;
let node: ProductNode;
let account: Account;
/** A backup that was made under load, and one of its keys. */
let file: string;
let keys: UsedKey[];
let keyspace: Keyspace;
/** A key with credits, of a consumer with a limit. */
let issued: IssuedKey;

interface UsedKey {
  readonly id: string;
  readonly key: string;
  sent: number;
  answered: number;
  answeredBefore: number;
  sentAfter: number;
}

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.start();
  account = await signUp(node.baseUrl);
  const workspace = ["--owner", account.email, "--name", "Described", "--description", "Line 1\nLine 2"];
  expectText(await instance.command(["workspace", "create", ...workspace]));
  file = join(instance.directory, "latchkey.backup");
  keys = await Promise.all(
    Array.from({ length: 4 }, async (_, number) => ({
      ...(await createKey(node.baseUrl, account, `used ${number}`)),
      sent: 0,
      answered: 0,
      answeredBefore: 0,
      sentAfter: 0,
    })),
  );
  keyspace = await createKeyspace(node.baseUrl, account);
  issued = await issueKey(keyspace, { externalId: "customer_42", credits: { remaining: 100 } });
  await callApi(keyspace, ["PATCH", `${pathOf(keyspace)}/consumers/customer_42`], {
    limits: [{ name: "daily", quota: 10, windowSeconds: 86_400 }],
  });
  expect(await verifyIssued(node.baseUrl, 4)).toMatchObject({ code: "VALID" });
});

afterAll(async () => {
  await instance?.close();
});

/** The result of a verification of the issued key, on a node of any instance. */
async function verifyIssued(baseUrl: string, cost: number) {
  return await callApi<object>({ ...keyspace, baseUrl }, ["POST", "/keys/verify"], { key: issued.key, cost });
}

/** Uses keys, and creates and deletes others, until it is stopped. */
function startLoad(): { readonly stop: () => Promise<void> } {
  let isStopped = false;
  async function use(key: UsedKey): Promise<void> {
    while (!isStopped) {
      key.sent += 1;
      expect((await callOpen(node.baseUrl, key.key)).status).toBe(200);
      key.answered += 1;
    }
  }
  async function change(): Promise<void> {
    for (let number = 0; !isStopped; number += 1) {
      const { id } = await createKey(node.baseUrl, account, `passing ${number}`);
      await deleteKey(node.baseUrl, account, id);
    }
  }
  const work = Promise.all([...keys.map(use), change()]);
  return {
    async stop() {
      isStopped = true;
      await work;
    },
  };
}

test("backs up an instance under load, to a file that only its owner can read", async () => {
  const load = startLoad();
  await eventually("each key was used", async () => keys.every(({ answered }) => answered > 20));
  for (const key of keys) key.answeredBefore = key.answered;
  const result = expectResult(await instance.command(["backup", file, "--json"]));
  for (const key of keys) key.sentAfter = key.sent;
  await load.stop();
  const { size, mode } = await stat(file);
  expect(result).toEqual({
    file,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    rowCount: expect.any(Number),
    sizeBytes: size,
  });
  expect(mode & 0o777).toBe(0o600);
  await expect(access(`${file}.partial`)).rejects.toThrow("ENOENT");
  // Secrets that a backup doesn't need.
  const text = gunzipSync(await readFile(file)).toString();
  for (const { key } of keys) expect(text).not.toContain(key);
  expect(text).not.toContain(account.password);
  expect(text).not.toContain((await readFile(join(instance.dataDirectory, "auth-secret"), "utf8")).trim());
});

test("prints aligned text without --json, and warns about variables that have no effect", async () => {
  const args = ["backup", join(instance.directory, "text.backup")];
  const variables = { DATA_DIR: instance.dataDirectory, DATABASE_URI: "postgres://elsewhere/latchkey" };
  const { status, stdout, stderr } = await runCommandInProcess(args, variables);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: "Warning: The environment variable DATABASE_URI has no effect; did you mean DATABASE_URL?\n",
  });
  expect(stdout).toMatch(/^File {6}\S+text\.backup\nSnapshot {2}\S+Z\nRows {6}\d+\nSize {6}\d+ bytes\n$/);
});

test("after a restore elsewhere, keys work, users can sign in, and counts are consistent", async () => {
  const late = await createKey(node.baseUrl, account, "made after the backup");
  const other = await createTestInstance({}, { deadlines: "patient" });
  try {
    const ending = await other.command(["restore", file, "--json"]);
    expect(ending).toMatchObject({
      status: 0,
      stderr: `Created a Latchkey database in ${other.dataDirectory}.\n`,
    });
    expect(JSON.parse(ending.stdout)).toEqual({
      file,
      createdAt: expect.any(String),
      rowCount: expect.any(Number),
    });
    expect(await findPostmaster(other.cluster)).toBeUndefined();

    const restored = await other.start();
    const client = await open(await connectionTo(other.cluster));
    // These tables have no foreign keys, but their rows are written in one transaction.
    const { rows } = await client.query(`
      select count(*) filter (where k.id is null)::int as "countersWithoutKey",
        count(*) filter (where c.key_id is null)::int as "keysWithoutCounter", count(*) > 7 as "hasPassing"
      from (select id from api_keys union all select id from issued_keys union all select id from consumers) k
      full join key_counters c on c.key_id = k.id`);
    expect(rows).toEqual([{ countersWithoutKey: 0, keysWithoutCounter: 0, hasPassing: true }]);
    // History is written after the counts, never before.
    const ahead = await client.query(`
      select from key_counters c
      join (select key_id, sum(count) from key_usage_hours where outcome = 'admitted' group by 1) h using (key_id)
      where h.sum > c.use_count`);
    expect(ahead.rowCount).toBe(0);
    const described = await client.query("select description from workspaces where name = 'Described'");
    expect(described.rows).toEqual([{ description: "Line 1\nLine 2" }]);
    // The restore, and the backup that it comes from.
    const logged = await client.query(`
      select action, actor_kind, after, occurred_at > clock_timestamp() - interval '1 hour' as "isRecent"
      from instance_events order by occurred_at desc limit 2`);
    const { createdAt } = JSON.parse(ending.stdout) as { createdAt: string };
    const byCommand = { actor_kind: "command", isRecent: true };
    expect(logged.rows).toEqual([
      { ...byCommand, action: "backup.restored", after: { snapshot: createdAt } },
      { ...byCommand, action: "backup.created", after: null },
    ]);
    await client.end();

    const { cookie = "" } = await signIn(restored.baseUrl, account);
    for (const { id, key, answeredBefore, sentAfter } of keys) {
      const used = await readUsageCount(restored.baseUrl, { ...account, cookie }, id);
      expect(used).toBeGreaterThanOrEqual(answeredBefore);
      expect(used).toBeLessThanOrEqual(sentAfter);
      expect((await callOpen(restored.baseUrl, key)).status).toBe(200);
      expect(await readUsageCount(restored.baseUrl, { ...account, cookie }, id)).toBe(used + 1);
    }
    expect((await callOpen(restored.baseUrl, late.key)).status).toBe(403);
    // 4 of the 100 credits, and of the consumer's limit of 10, were spent before the backup.
    for (const [cost, code, credits, remaining] of [
      [5, "VALID", 91, 1],
      [2, "RATE_LIMITED", 91, 1],
      [1, "VALID", 90, 0],
    ] as const)
      expect(await verifyIssued(restored.baseUrl, cost)).toMatchObject({
        code,
        credits: { remaining: credits },
        limits: [{ name: "daily", remaining }],
      });

    expectFailure(await other.command(["restore", file]), {
      status: 1,
      code: "CONFLICT",
      message: "Another Latchkey process is using the database. Stop every server, then restore the backup.",
    });
    await restored.stop();
    expectFailure(await other.command(["restore", file]), {
      status: 1,
      code: "CONFLICT",
      message:
        /^The database has data \(the table "\w+" has rows\); restore the backup into an empty database\.$/,
    });
  } finally {
    await other.close();
  }
});

test("never replaces a file, and leaves no file and no event if it is refused", async () => {
  const before = await readFile(file);
  const client = await open(await connectionTo(instance.cluster));
  const countEvents = async () => {
    const { rows } = await client.query(
      "select count(*)::int as count from instance_events where action = 'backup.created'",
    );
    return rows[0];
  };
  const events = await countEvents();
  const exists = {
    status: 1,
    code: "CONFLICT",
    message: /latchkey\.backup exists; choose another name/,
  } as const;
  expectFailure(await instance.command(["backup", file]), exists);
  expect(await readFile(file)).toEqual(before);

  const path = join(instance.directory, "other.backup");
  await writeFile(`${path}.partial`, "another's");
  const partial = {
    ...exists,
    message: /other\.backup\.partial exists; another backup is writing it or was killed/,
  };
  expectFailure(await instance.command(["backup", path]), partial);
  expect(await readFile(`${path}.partial`, "utf8")).toBe("another's");

  expectFailure(await instance.command(["backup", join(instance.directory, "missing", "x")]), {
    status: 1,
    code: "NOT_FOUND",
    message: /^There is no directory .*\/missing\.$/,
  });
  const nowhere = join(instance.directory, "no-instance");
  expectFailure(await runCommand(["backup", path.replace("other", "none")], { DATA_DIR: nowhere }), {
    status: 1,
    code: "NOT_FOUND",
    message: /^There is no Latchkey database in /,
  });
  await expect(access(nowhere)).rejects.toThrow("ENOENT");
  await expect(access(path)).rejects.toThrow("ENOENT");
  expect(await countEvents()).toEqual(events);
  await client.end();
});

test("a file that is missing, truncated, modified or not a backup creates no database", async () => {
  const target = join(instance.directory, "target");
  const restore = (path: string) => runCommandInProcess(["restore", path], { DATA_DIR: target });
  const path = join(instance.directory, "damaged.backup");
  const whole = await readFile(file);
  const expectDamage = async (reason: RegExp): Promise<void> => {
    const message = new RegExp(`^${path} can't be restored\\. .*${reason.source}`);
    expectFailure(await restore(path), { status: 1, code: "BAD_REQUEST", message });
  };
  await writeFile(path, whole);
  await truncate(path, whole.length - 20);
  await expectDamage(/It is truncated or damaged: unexpected end of file\./);
  const changed = Buffer.from(whole);
  changed[changed.length - 6] = (changed[changed.length - 6] ?? 0) ^ 1; // In the checksum of gzip.
  await writeFile(path, changed);
  await expectDamage(/It is truncated or damaged: incorrect (data|length) check\./);
  await writeFile(path, "no backup");
  await expectDamage(/It is truncated or damaged: incorrect header check\./);
  expectFailure(await restore(join(instance.directory, "none")), {
    status: 1,
    code: "NOT_FOUND",
    message: /^There is no file or directory /,
  });
  expectFailure(await restore(instance.directory), {
    status: 1,
    code: "BAD_REQUEST",
    message: /^Can't access .*: illegal operation on a directory\.$/,
  });
  await expect(access(target)).rejects.toThrow("ENOENT");
});

test("an interrupted backup leaves no file, and exits by the signal", async () => {
  const path = join(instance.directory, "interrupted.backup");
  const client = await open(await connectionTo(instance.cluster));
  // The backup waits for this lock before its snapshot.
  await client.query("begin; lock table audit_events in access exclusive mode");
  const child = spawnCommand(["backup", path], { DATA_DIR: instance.dataDirectory });
  const closed = once(child, "close");
  const isWriting = () =>
    access(`${path}.partial`).then(
      () => true,
      () => false,
    );
  await eventually("the backup is written", isWriting);
  child.kill("SIGTERM");
  expect(await closed).toEqual([null, "SIGTERM"]);
  await client.query("rollback");
  await client.end();
  for (const name of [path, `${path}.partial`]) await expect(access(name)).rejects.toThrow("ENOENT");
});

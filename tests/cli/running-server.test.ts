import { createId } from "@latchkey/db/ids";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  callProcedure,
  createKey,
  deleteKey,
  findSignedIn,
  readUsageCount,
  signIn,
  signUp,
} from "../support/account.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo, getPostmaster } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { runCommand } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// The command changes the database of a running server, which applies the changes immediately.

const password = "twelve characters or more";

let instance: TestInstance;
let node: InProcessNode;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
});

afterAll(async () => {
  await instance?.close();
});

/** Returns what a successful command printed with --json. */
async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args], input));
}

const newUser = (email: string, ...more: string[]): string[] => [
  ...["user", "create", "--email", email, "--name", "Grace Hopper", "--password-stdin"],
  ...more,
];

/** Creates a user and a valid key of the user. */
async function createUserWithKey(email: string): Promise<{ id: string; key: string }> {
  await perform(newUser(email), password);
  const { id, key } = await perform(["key", "create", "--user", email, "--name", "by command"]);
  if (typeof id !== "string" || typeof key !== "string") throw new Error("No key was created.");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  return { id, key };
}

test("user reset-link prints a link that is valid for a day or for the given duration", async () => {
  const email = "forgetful@example.com";
  await perform(newUser(email), password);
  const lifetimeOf = ({ expiresAt }: Record<string, unknown>) =>
    (Date.parse(String(expiresAt)) - Date.now()) / 1_000;
  const link = await perform(["user", "reset-link", email]);
  expect(link.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/reset-password#[\w-]{43}$/);
  expect(Math.abs(lifetimeOf(link) - 86_400)).toBeLessThan(60);
  const short = await perform(["user", "reset-link", email, "--expires-in", "1h"]);
  expect(Math.abs(lifetimeOf(short) - 3_600)).toBeLessThan(60);
  const invalid = ["--json", "user", "reset-link", email, "--expires-in", "8d"];
  expectFailure(await instance.command(invalid), {
    status: 2,
    code: "BAD_REQUEST",
    message: /from 60s to 7d/,
  });
  const unknown = ["--json", "user", "reset-link", "nobody@example.com"];
  expectFailure(await instance.command(unknown), { status: 1, code: "NOT_FOUND", message: /no user/ });
});

test("user email changes the email address that a user signs in with", async () => {
  const email = "before@example.com";
  await perform(newUser(email), password);
  await perform(newUser("occupied@example.com"), password);
  const changed = await perform(["user", "email", email, "--email", "After@example.com"]);
  expect(changed).toMatchObject({ email: "after@example.com", isDisabled: false });
  expect(await perform(["user", "email", "after@example.com", "--email", "AFTER@example.com"])).toEqual(
    changed,
  );
  expectFailure(await instance.command(["--json", "user", "email", email, "--email", "x@example.com"]), {
    status: 1,
    code: "NOT_FOUND",
    message: /no user/,
  });
  const taken = ["--json", "user", "email", "after@example.com", "--email", "occupied@example.com"];
  expectFailure(await instance.command(taken), {
    status: 1,
    code: "CONFLICT",
    message: /already has an account/,
  });
});

test("migrate has nothing to do, and leaves the server's Postgres running", async () => {
  const postmaster = await getPostmaster(instance.cluster);
  expect(await perform(["migrate"])).toEqual({ applied: [], repaired: [] });
  expect(await getPostmaster(instance.cluster)).toBe(postmaster);
});

test("user create creates a user who can sign in, with a password from `echo`", async () => {
  const args = newUser("Grace@Example.com", "--workspace", "Navy", "--json");
  const answer = expectResult(
    await runCommand(args, { DATA_DIR: instance.dataDirectory }, { input: `${password}\n` }),
  );
  expect(answer).toEqual({
    userId: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
    workspaceId: expect.stringMatching(/^ws_[0-9a-z]{26}$/),
  });
  const session = await signIn(node.baseUrl, { email: "grace@example.com", password });
  expect(session.status).toBe(200);
  expect(session.data).toEqual({
    user: {
      id: answer.userId,
      name: "Grace Hopper",
      email: "grace@example.com",
      isOperator: expect.any(Boolean),
    },
    workspaces: [{ id: answer.workspaceId, name: "Navy", slug: "navy", role: "owner", isDisabled: false }],
    unreadNoticeCount: 0,
  });
  const wrong = await signIn(node.baseUrl, { email: "grace@example.com", password: `${password}\n` });
  expect(wrong).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
});

test("key create creates a valid key that acts for its user and is listed in the web app", async () => {
  const email = "lists@example.com";
  const { id, key } = await createUserWithKey(email);
  expect(id).toMatch(/^key_[0-9a-z]{26}$/);
  const { body } = await callOpen(node.baseUrl, key, "/open/me");
  expect(JSON.parse(body)).toMatchObject({ key: { id, name: "by command" }, user: { email } });
  const { cookie = "" } = await signIn(node.baseUrl, { email, password });
  const listed = await callProcedure(node.baseUrl, {
    path: "apiKeys.list",
    kind: "query",
    input: {},
    cookie,
  });
  expect(listed.data).toMatchObject({ total: 1, items: [{ id, name: "by command", usageCount: 2 }] });
});

test("key delete revokes a key from the next request", async () => {
  const { id, key } = await createUserWithKey("deletes@example.com");
  expect(await perform(["key", "delete", id])).toEqual({ id });
  expect(await callOpen(node.baseUrl, key)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  expectFailure(await instance.command(["key", "delete", id]), {
    status: 1,
    code: "NOT_FOUND",
    message: /no such API key/,
  });
});

test("user disable revokes keys and sessions immediately, and the user can't sign in", async () => {
  const account = await signUp(node.baseUrl, "leaves@example.com");
  const { key } = await createKey(node.baseUrl, account, "theirs");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  expect(await findSignedIn(node.baseUrl, account)).toBe(account.email);

  expect(await perform(["user", "disable", account.email])).toEqual({
    id: expect.stringMatching(/^usr_/),
    email: account.email,
    name: expect.any(String),
    isOperator: expect.any(Boolean),
    isDisabled: true,
    createdAt: expect.stringMatching(/Z$/),
  });
  expect(await callOpen(node.baseUrl, key)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  expect(await findSignedIn(node.baseUrl, account)).toBeUndefined();
  await expect(createKey(node.baseUrl, account, "more")).rejects.toThrow("UNAUTHORIZED");
  expect(await signIn(node.baseUrl, account)).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
});

test("user enable makes keys valid immediately, and the user can sign in again", async () => {
  const account = await signUp(node.baseUrl, "returns@example.com");
  const { id: kept, key } = await createKey(node.baseUrl, account, "kept");
  const { id: deleted, key: deletedKey } = await createKey(node.baseUrl, account, "deleted");
  await deleteKey(node.baseUrl, account, deleted);
  await perform(["user", "disable", account.email]);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);

  const answer = { email: account.email, isDisabled: false };
  expect(await perform(["user", "enable", account.email])).toMatchObject(answer);
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  expect((await callOpen(node.baseUrl, deletedKey)).status).toBe(403);
  // Enabling doesn't restore the session.
  expect(await findSignedIn(node.baseUrl, account)).toBeUndefined();
  const { status, cookie = "" } = await signIn(node.baseUrl, account);
  expect(status).toBe(200);
  expect(await readUsageCount(node.baseUrl, { ...account, cookie }, kept)).toBe(1);
  // Enabling again changes nothing, and ends no session.
  expect(await perform(["user", "enable", account.email])).toMatchObject(answer);
  expect(await findSignedIn(node.baseUrl, { ...account, cookie })).toBe(account.email);
});

test("a key created by the command can be deleted in the web app", async () => {
  const { id, key } = await createUserWithKey("both@example.com");
  const { cookie = "" } = await signIn(node.baseUrl, { email: "both@example.com", password });
  await deleteKey(node.baseUrl, { email: "both@example.com", password, cookie }, id);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);
});

test("without --json the output is aligned lines", async () => {
  await perform(newUser("reads@example.com"), password);
  const { stdout } = await instance.command([
    "key",
    "create",
    "--user",
    "reads@example.com",
    "--name",
    "seen",
  ]);
  expect(stdout).toMatch(/^ID {3}key_\w{26}\nKey {2}lk_\w{36}\n$/);
});

const unknownKey = "key_01h455vb4pex5vsknk084sn02q";
const unknownUser = "usr_01h455vb4pex5vsknk084sn02q";

test.each([
  ["key create", ["key", "create", "--user", "nobody@example.com", "--name", "n"], /no user nobody@/],
  ["key create by ID", ["key", "create", "--user", unknownUser, "--name", "n"], /no user usr_01h/],
  ["user disable", ["user", "disable", "Nobody@example.com"], /no user nobody@/],
  ["user enable", ["user", "enable", unknownUser], /no user usr_01h/],
  ["key delete", ["key", "delete", unknownKey], /no such API key/],
])("%s of what does not exist fails with status 1", async (_what, args, message) => {
  expectFailure(await instance.command(args), { status: 1, code: "NOT_FOUND", message });
});

test("a password that is too short or easy to guess is rejected and not printed", async () => {
  const rejected = { status: 2, code: "BAD_REQUEST" } as const;
  const short = await instance.command(newUser("short@example.com"), "short\n");
  expectFailure(short, { ...rejected, message: "--password-stdin: Use at least 12 characters." });
  const common = await instance.command(newUser("short@example.com"), "Password1234!");
  expectFailure(common, { ...rejected, message: /^--password-stdin: This password is too common\./ });
  const own = await instance.command(newUser("grace.hopper@example.com"), "grace.hopper");
  expectFailure(own, { ...rejected, message: /^--password-stdin: .*email address/ });
});

test("an email address has one account", async () => {
  await perform(newUser("taken@example.com"), password);
  const taken = await instance.command(newUser("TAKEN@example.com"), password);
  expectFailure(taken, { status: 1, code: "CONFLICT", message: /has an account/ });
});

test("user list prints every user once, oldest first, and marks the operator", async () => {
  await perform(newUser("listed@example.com"), password);
  const { data, ...others } = await perform(["user", "list"]);
  expect(others).toEqual({});
  const users = data as { id: string; email: string; isOperator: boolean }[]; // What the test looks at.
  const ids = users.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(users.map(({ isOperator }) => isOperator)).toEqual(users.map((_user, index) => index === 0));
  expect(users.at(-1)).toEqual({
    id: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
    email: "listed@example.com",
    name: "Grace Hopper",
    isOperator: false,
    isDisabled: false,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  const lines = expectText(await instance.command(["user", "list"])).split("\n");
  expect(lines[0]).toMatch(/^ID +STATUS +OPERATOR +CREATED +EMAIL +NAME$/);
  expect(lines.slice(1, -1).map((line) => line.split(" ")[0])).toEqual(ids);
  const column = lines[0]?.indexOf("EMAIL") ?? 0;
  expect(lines.slice(1, -1).map((line) => line.slice(column).split(" ")[0])).toEqual(
    users.map(({ email }) => email),
  );
});

test("user list continues beyond one page", async () => {
  const db = openTestPool(await connectionTo(instance.cluster), { applicationName: "test" });
  const values = Array.from({ length: 230 }, (_, count) => ({
    id: createId("user"),
    email: `many-${count}@example.com`,
    name: "Many",
  }));
  await db.insertInto("users").values(values).execute();
  await db.destroy();
  const { data } = await perform(["user", "list"]);
  const emails = (data as { email: string }[]).map(({ email }) => email); // What the test looks at.
  const many = emails.filter((email) => email.startsWith("many-"));
  expect(many.toSorted()).toEqual(values.map(({ email }) => email).toSorted());
});

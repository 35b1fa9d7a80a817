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
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { getPostmaster } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";
import { expectFailure, expectResult } from "./expect-ending.ts";

// The command works on the database of a server that runs, and the server knows at once.

const password = "twelve characters or more";

let place: Place;
let node: ProductNode;

beforeAll(async () => {
  place = await createPlace();
  node = await place.start();
});

afterAll(async () => {
  await place?.close();
});

/** What a command that worked printed with --json. */
async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  return expectResult(await place.command(["--json", ...args], input));
}

const newUser = (email: string, ...more: string[]): string[] => [
  ...["user", "create", "--email", email, "--name", "Grace Hopper", "--password-stdin"],
  ...more,
];

/** Makes a user and a key of theirs, which is good. */
async function createUserWithKey(email: string): Promise<{ id: string; key: string }> {
  await perform(newUser(email), password);
  const { id, key } = await perform(["key", "create", "--user", email, "--name", "by command"]);
  if (typeof id !== "string" || typeof key !== "string") throw new Error("No key was created.");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  return { id, key };
}

test("migrate has nothing left to do, and leaves the server's Postgres running", async () => {
  const postmaster = await getPostmaster(place.cluster);
  expect(await perform(["migrate"])).toEqual({ applied: [] });
  expect(await getPostmaster(place.cluster)).toBe(postmaster);
});

test("user create makes a user who can sign in, with the password that echo sent", async () => {
  const answer = await perform(newUser("Grace@Example.com", "--workspace", "Navy"), `${password}\n`);
  expect(answer).toEqual({
    userId: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
    workspaceId: expect.stringMatching(/^ws_[0-9a-z]{26}$/),
  });
  const session = await signIn(node.baseUrl, { email: "grace@example.com", password });
  expect(session.status).toBe(200);
  expect(session.data).toEqual({
    user: { id: answer.userId, name: "Grace Hopper", email: "grace@example.com" },
    workspaces: [{ id: answer.workspaceId, name: "Navy", slug: "navy", role: "owner" }],
  });
  const wrong = await signIn(node.baseUrl, { email: "grace@example.com", password: `${password}\n` });
  expect(wrong).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
});

test("key create makes a key that works, acts for its user and is listed in the web app", async () => {
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

test("key delete puts a key out of force for the very next request", async () => {
  const { id, key } = await createUserWithKey("deletes@example.com");
  expect(await perform(["key", "delete", id])).toEqual({ id, deleted: true });
  expect(await callOpen(node.baseUrl, key)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  expectFailure(await place.command(["key", "delete", id]), {
    status: 1,
    code: "NOT_FOUND",
    message: /no such API key/,
  });
});

test("user disable puts keys and sessions out of force at once, and nobody signs in", async () => {
  const account = await signUp(node.baseUrl, "leaves@example.com");
  const { key } = await createKey(node.baseUrl, account, "theirs");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  expect(await findSignedIn(node.baseUrl, account)).toBe(account.email);

  expect(await perform(["user", "disable", account.email])).toEqual({
    userId: expect.stringMatching(/^usr_/),
    disabled: true,
  });
  expect(await callOpen(node.baseUrl, key)).toMatchObject({ status: 403, code: "FORBIDDEN" });
  expect(await findSignedIn(node.baseUrl, account)).toBeUndefined();
  await expect(createKey(node.baseUrl, account, "more")).rejects.toThrow("UNAUTHORIZED");
  expect(await signIn(node.baseUrl, account)).toMatchObject({ status: 401, code: "UNAUTHORIZED" });
});

test("user enable puts keys back in force at once, and the user signs in anew", async () => {
  const account = await signUp(node.baseUrl, "returns@example.com");
  const { id: kept, key } = await createKey(node.baseUrl, account, "kept");
  const { id: deleted, key: deletedKey } = await createKey(node.baseUrl, account, "deleted");
  await deleteKey(node.baseUrl, account, deleted);
  await perform(["user", "disable", account.email]);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);

  const answer = { userId: expect.stringMatching(/^usr_/), enabled: true };
  expect(await perform(["user", "enable", account.email])).toEqual(answer);
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  expect((await callOpen(node.baseUrl, deletedKey)).status).toBe(403);
  // The session that disabling ended stays ended.
  expect(await findSignedIn(node.baseUrl, account)).toBeUndefined();
  const { status, cookie = "" } = await signIn(node.baseUrl, account);
  expect(status).toBe(200);
  expect(await readUsageCount(node.baseUrl, { ...account, cookie }, kept)).toBe(1);
  // Once more changes nothing, and ends no session.
  expect(await perform(["user", "enable", account.email])).toEqual(answer);
  expect(await findSignedIn(node.baseUrl, { ...account, cookie })).toBe(account.email);
});

test("a key made by the command can be deleted in the web app", async () => {
  const { id, key } = await createUserWithKey("both@example.com");
  const { cookie = "" } = await signIn(node.baseUrl, { email: "both@example.com", password });
  await deleteKey(node.baseUrl, { email: "both@example.com", password, cookie }, id);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);
});

test("without --json the output is lines to read", async () => {
  await perform(newUser("reads@example.com"), password);
  const { stdout } = await place.command(["key", "create", "--user", "reads@example.com", "--name", "seen"]);
  expect(stdout).toMatch(/^id: key_\w{26}\nkey: lk_\w{36}\n$/);
});

test.each([
  [
    "an unknown user's key",
    ["key", "create", "--user", "nobody@example.com", "--name", "n"],
    "NOT_FOUND",
    /no user .*nobody@example\.com/,
  ],
  ["an unknown user's disabling", ["user", "disable", "nobody@example.com"], "NOT_FOUND", /no user/],
  ["an unknown user's enabling", ["user", "enable", "nobody@example.com"], "NOT_FOUND", /no user/],
  ["what is no address", ["user", "disable", "nobody"], "BAD_REQUEST", /address/],
  ["what is no address to enable", ["user", "enable", "nobody"], "BAD_REQUEST", /address/],
  ["an empty name", ["key", "create", "--user", "grace@example.com", "--name", " "], "BAD_REQUEST", /name: /],
  ["what is no id of a key", ["key", "delete", "1234"], "BAD_REQUEST", /"1234" is not the id/],
  [
    "an id of something else",
    ["key", "delete", "usr_01h455vb4pex5vsknk084sn02q"],
    "BAD_REQUEST",
    /not the id/,
  ],
  [
    "an id that no key has",
    ["key", "delete", "key_01h455vb4pex5vsknk084sn02q"],
    "NOT_FOUND",
    /no such API key/,
  ],
])("%s is an error with status 1", async (_what, args, code, message) => {
  expectFailure(await place.command(args), { status: 1, code, message });
});

test("a password that is too short or easy to guess is refused, and so is an address that has an account", async () => {
  const short = await place.command(newUser("short@example.com"), "short\n");
  expectFailure(short, { status: 1, code: "BAD_REQUEST", message: /password: .*12/ });
  const common = await place.command(newUser("short@example.com"), "Password1234!");
  expectFailure(common, { status: 1, code: "BAD_REQUEST", message: /^password: .*too common/ });
  const own = await place.command(newUser("grace.hopper@example.com"), "grace.hopper");
  expectFailure(own, { status: 1, code: "BAD_REQUEST", message: /^password: .*email address/ });
  await perform(newUser("taken@example.com"), password);
  const taken = await place.command(newUser("TAKEN@example.com"), password);
  expectFailure(taken, { status: 1, code: "CONFLICT", message: /has an account/ });
});

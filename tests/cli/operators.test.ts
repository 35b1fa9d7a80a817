import { afterAll, beforeAll, expect, test } from "vitest";
import { findSignedIn, signIn } from "../support/account.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { runCommand } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Operators, and the log of what the command does.

const password = "twelve characters or more";
const ada = "ada@example.com";
const grace = "grace@example.com";

let instance: TestInstance;
let baseUrl: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  ({ baseUrl } = await instance.startInProcess());
  for (const email of [ada, grace]) {
    const user = ["user", "create", "--email", email, "--name", email, "--password-stdin"];
    await perform([...user, "--workspace", `Workspace of ${email}`], password);
  }
});

afterAll(async () => {
  await instance?.close();
});

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args], input));
}

interface LoggedEvent {
  readonly action: string;
  readonly user: { readonly id: string; readonly email: string } | null;
  readonly workspace: { readonly id: string; readonly name: string } | null;
}

async function readLog(...args: string[]): Promise<readonly LoggedEvent[]> {
  return (await perform(["instance", "log", ...args])).data as readonly LoggedEvent[]; // What the tests look at.
}

const listOperators = async () =>
  ((await perform(["operator", "list"])).data as { email: string }[]).map(({ email }) => email);

test("the first account is an operator; operator grant adds another one", async () => {
  expect(await listOperators()).toEqual([ada]);
  expect(await perform(["operator", "grant", grace])).toMatchObject({ email: grace, isOperator: true });
  expect(await listOperators()).toEqual([ada, grace]);
});

test("operator revoke leaves one operator who can sign in, and so does user disable", async () => {
  expect(await perform(["operator", "revoke", ada])).toMatchObject({ email: ada, isOperator: false });
  const failure = { status: 1, code: "CONFLICT", message: /only operator who can sign in/ } as const;
  expectFailure(await instance.command(["operator", "revoke", grace]), failure);
  expectFailure(await instance.command(["user", "disable", grace]), failure);
  expectFailure(await instance.command(["operator", "grant", "nobody@example.com"]), {
    status: 1,
    code: "NOT_FOUND",
    message: "There is no user nobody@example.com.",
  });
});

test("user list searches, and user end-sessions signs a user out", async () => {
  const search = async (text: string) =>
    ((await perform(["user", "list", "--search", text])).data as { id: string; email: string }[]).map(
      ({ id, email }) => ({ id, email }),
    );
  const [found, ...others] = await search("GRACE@");
  expect(found).toMatchObject({ email: grace });
  expect(others).toEqual([]);
  const id = String(found?.id);
  expect(await search(id)).toEqual([{ id, email: grace }]);
  expect(await search("nobody")).toEqual([]);
  const { cookie = "" } = await signIn(baseUrl, { email: grace, password });
  const account = { email: grace, password, cookie };
  expect(await findSignedIn(baseUrl, account)).toBe(grace);
  expect(await perform(["user", "end-sessions", grace])).toEqual({ id, email: grace, count: 1 });
  expect(await findSignedIn(baseUrl, account)).toBeUndefined();
  expect(await perform(["user", "end-sessions", grace])).toMatchObject({ count: 0 });
});

test("user sessions and user security-log show where a user signed in", async () => {
  const { cookie = "" } = await signIn(baseUrl, { email: grace, password });
  expect(await findSignedIn(baseUrl, { email: grace, password, cookie })).toBe(grace);
  const [session, ...others] = (await perform(["user", "sessions", grace])).data as readonly object[];
  expect(others).toEqual([]);
  expect(session).toMatchObject({ id: expect.stringMatching(/^ses_/), address: expect.any(String) });
  const [event] = (await perform(["user", "security-log", grace])).data as readonly object[];
  expect(event).toMatchObject({ action: "sign-in.succeeded", actor: { kind: "session" } });
  const text = expectText(await instance.command(["user", "security-log", grace]));
  expect(text).toMatch(/^TIME +ACTION +ACTOR +IP ADDRESS +DEVICE +API KEY\n/);
  await perform(["user", "end-sessions", grace]);
  expect(await perform(["user", "sessions", grace])).toMatchObject({ data: [] });
});

test("user unlink-identity fails for a user without an identity", async () => {
  expectFailure(await instance.command(["user", "unlink-identity", grace]), {
    status: 1,
    code: "NOT_FOUND",
    message: "The account is not linked to an identity.",
  });
});

test("instance show prints the health of the database and of the jobs", async () => {
  expect(await perform(["instance", "show"])).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    registration: "open",
    authProviders: expect.arrayContaining(["password"]),
    sendsEmail: false,
    database: { responseMs: expect.any(Number), postgresVersion: expect.any(String), isSchemaNewer: false },
    jobs: { waiting: { isMore: false }, failed: { count: 0, isMore: false } },
  });
  const text = expectText(await instance.command(["instance", "show"]));
  expect(text).toMatch(/^Database +responds in \d+ ms$/m);
  expect(text).toMatch(/^Failed jobs +0$/m);
});

test("instance log lists changes of the command, newest first, and outlives a workspace", async () => {
  const { id: keyId } = await perform(["key", "create", "--user", ada, "--name", "CI"]);
  const { id } = await perform(["workspace", "create", "--owner", ada, "--name", "Doomed"]);
  const workspace = String(id);
  await perform(["member", "add", "--workspace", workspace, "--user", grace, "--role", "viewer"]);
  await perform(["member", "remove", "--workspace", workspace, "--user", grace]);
  await perform(["user", "disable", ada]);
  await perform(["user", "enable", ada]);
  await perform(["user", "reset-link", ada]);
  await perform(["workspace", "delete", workspace, "--confirm", "doomed"]);
  await perform(["key", "delete", String(keyId)]);
  const events = await readLog();
  expect(events.map(({ action }) => action)).toEqual([
    "key.deleted",
    "workspace.deleted",
    "password.reset-link-created",
    "user.enabled",
    "user.disabled",
    "member.removed",
    "member.added",
    "workspace.created",
    "key.created",
    ...["session.ended", "session.ended"],
    "operator.revoked",
    "operator.granted",
    ...["user.created", "workspace.created", "user.created", "workspace.created"],
    "registration.changed",
  ]);
  expect(events[1]).toMatchObject({
    actor: { kind: "command", userId: null },
    workspace: { id: workspace, name: "Doomed" },
  });
  expect(await readLog("--workspace", workspace)).toHaveLength(4);
  expect(await readLog("--action", "operator.revoked")).toMatchObject([{ user: { email: ada } }]);
  expect(await readLog("--user", events[2]?.user?.id ?? "", "--action", "user.disabled")).toHaveLength(1);
  expect(await readLog("--to", "2026-01-01")).toEqual([]);
});

test("instance log prints a table in a process of its own", async () => {
  const text = expectText(await runCommand(["instance", "log"], { DATA_DIR: instance.dataDirectory }));
  const [head, first] = text.split("\n");
  expect(head).toMatch(/^TIME +ACTION +ACTOR +IP ADDRESS +USER +WORKSPACE$/);
  expect(first).toMatch(/^20\d\d-.+Z +key\.deleted +command +ada@example\.com/);
});

test.each([
  [["--action", "nothing"], /^--action: "nothing" is not valid\. Expected one of /],
  [
    ["--user", "me"],
    '--user: "me" is not valid. Expected the ID of a user, such as usr_01h455vb4pex5vsknk084sn02q.',
  ],
])("instance log rejects %j", async (args: string[], message) => {
  const ending = await instance.command(["instance", "log", ...args]);
  expectFailure(ending, { status: 2, code: "BAD_REQUEST", message });
});

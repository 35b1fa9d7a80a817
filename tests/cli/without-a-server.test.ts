import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { openDatabase } from "@latchkey/db/connection";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signIn } from "../support/account.ts";
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { connectionTo, findPostmaster } from "../support/postmaster.ts";
import { type Ending, runCommand } from "../support/product.ts";
import { expectFailure, expectResult, expectText } from "./expect-ending.ts";

// The command alone with a data directory: it starts Postgres for itself and leaves nothing running.

const password = "twelve characters or more";
const email = "first@example.com";

let place: Place;

beforeAll(async () => {
  place = await createPlace();
});

afterAll(async () => {
  await place?.close();
});

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  const result = expectResult(await place.command([...args, "--json"], input));
  expect(await findPostmaster(place.cluster)).toBeUndefined();
  return result;
}

/** Each ends before it looks at any database. */
test.each([
  ["no command", [], /command is missing/],
  ["an unknown command", ["frobnicate"], /^unknown command 'frobnicate'/],
  ["a group without its command", ["key"], /command is missing/],
  ["an unknown command of a group", ["key", "frobnicate"], /^unknown command 'frobnicate'/],
  ["a missing option", ["key", "create", "--user", email], /'--name <name>' not specified/],
  ["a missing value", ["key", "create", "--user", email, "--name"], /argument missing/],
  ["an unknown option", ["migrate", "--force"], /unknown option '--force'/],
  ["a missing argument", ["key", "delete"], /missing required argument 'id'/],
  ["workspace without its command", ["workspace"], /command is missing/],
  ["a workspace without an owner", ["workspace", "create", "--name", "n"], /'--owner <email>' not specified/],
  ["a workspace without a name", ["workspace", "create", "--owner", email], /'--name <name>' not specified/],
  ["a list with an argument", ["workspace", "list", "all"], /too many arguments/],
  ["member without its command", ["member"], /command is missing/],
  [
    "a member without a role",
    ["member", "add", "--workspace", "ws_1", "--user", email],
    /'--role <role>' not specified/,
  ],
  ["a member of no workspace", ["member", "remove", "--user", email], /'--workspace <id>' not specified/],
  ["nobody to remove", ["member", "remove", "--workspace", "ws_1"], /'--user <email>' not specified/],
  ["an argument too many", ["migrate", "now"], /too many arguments/],
  [
    "a password on the command line",
    ["user", "create", "--email", email, "--name", "n", "--password", "p"],
    /./,
  ],
])("%s is wrong usage: status 2, JSON on stderr, nothing on stdout", async (_what, args, message) => {
  expectFailure(await place.command(args), { status: 2, code: "BAD_REQUEST", message });
});

test.each([[["--help"]], [["user", "create", "--help"]], [["help", "key"]], [["member", "add", "--help"]]])(
  "%j explains itself on stdout with status 0",
  async (args) => {
    const { status, stdout, stderr } = await place.command(args);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^Usage: latchkey/);
  },
);

test("migrate makes the database, says what it applied, and stops Postgres again", async () => {
  const first = await perform(["migrate"]);
  expect(first.applied).toEqual(expect.arrayContaining(["0001-ground-floor"]));
  expect(await perform(["migrate"])).toEqual({ applied: [] });
});

test("workspace list of an instance without any is empty, and stops Postgres again", async () => {
  expect(await perform(["workspace", "list"])).toEqual({ workspaces: [] });
  expect(expectText(await place.command(["workspace", "list"]))).toBe("workspaces: nothing\n");
  expect(await findPostmaster(place.cluster)).toBeUndefined();
});

test("the first user is the operator and the second is not; a server that starts later knows them and their keys", async () => {
  const create = (address: string) =>
    perform(["user", "create", "--email", address, "--name", "First", "--password-stdin"], `${password}\n`);
  await create(email);
  await create("second@example.com");
  const { key } = await perform(["key", "create", "--user", email, "--name", "first"]);

  const node = await place.start();
  expect((await signIn(node.baseUrl, { email, password })).status).toBe(200);
  expect((await callOpen(node.baseUrl, String(key))).status).toBe(200);
  const db = openDatabase(await connectionTo(place.cluster), { applicationName: "test" });
  const operators = await db.selectFrom("users").select("email").where("is_operator", "=", true).execute();
  await db.destroy();
  expect(operators).toEqual([{ email }]);
  expect(await node.stop()).toBe(0);
});

function expectUnavailable(ending: Ending, message: RegExp): void {
  expect(ending.stdout).toBe("");
  expect(ending.stderr).not.toContain("never-to-be-printed");
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code: "SERVICE_UNAVAILABLE", message: expect.stringMatching(message) },
  });
  expect(ending.status).toBe(1);
  expect(ending.tookMs).toBeLessThan(10_000);
}

test("a database that cannot be reached is an error with status 1, soon", async () => {
  const mute = createServer((socket) => socket.on("error", () => undefined));
  mute.listen(0, "127.0.0.1");
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo; // It listens on TCP.
  const at = (where: number) => ({
    DATABASE_URL: `postgres://latchkey:never-to-be-printed@127.0.0.1:${where}/latchkey`,
  });
  expectUnavailable(await runCommand(["migrate"], at(1)), /ECONNREFUSED/);
  expectUnavailable(await runCommand(["migrate"], at(port)), /timeout/);
  mute.close();
});

test("a variable that is off is an error with status 1 that names it", async () => {
  const ending = await runCommand(["migrate"], { DATABASE_URL: "mysql://127.0.0.1/x" });
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code: "BAD_REQUEST", message: expect.stringMatching(/^DATABASE_URL must be/) },
  });
  expect(ending.status).toBe(1);
});

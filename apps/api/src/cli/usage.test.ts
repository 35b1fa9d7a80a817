import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { createIssuedKey } from "@latchkey/auth/key-format";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readEnv } from "../env.ts";
import { type Exit, explainExit } from "./explain-exit.ts";
import { createProgram } from "./program.ts";

// Errors that the command reports before it opens a database.

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-test-"));
});

afterAll(async () => {
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
});

async function run(args: readonly string[]): Promise<Exit> {
  const program = createProgram({
    ...process,
    loadEnv: async () => readEnv({ DATA_DIR: join(directory, "data") }),
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return { status: 0 };
  } catch (error) {
    return await explainExit(error);
  }
}

async function expectUsageError(args: readonly string[], message: string | RegExp): Promise<void> {
  expect(await run(args)).toEqual({
    status: 2,
    error: {
      code: "BAD_REQUEST",
      message: typeof message === "string" ? message : expect.stringMatching(message),
    },
  });
}

const id = "key_01h455vb4pex5vsknk084sn02q";
const workspace = "ws_01h455vb4pex5vsknk084sn02q";
const userId = "usr_01h455vb4pex5vsknk084sn02q";
const user = ["--user", "ada@example.com"];

test.each([
  ["no command", [], /^A command is missing\. --help lists/],
  ["an unknown command", ["frobnicate"], "Unknown command 'frobnicate'."],
  ["a similar command", ["user", "creat"], "Unknown command 'creat'. Did you mean create?"],
  ["help for an unknown command", ["help", "nope"], "Unknown command 'nope'."],
  ["help for a similar command", ["help", "keys"], "Unknown command 'keys'. Did you mean key?"],
  ["help for an unknown command of a group", ["help", "key", "nope"], "Unknown command 'nope'."],
  ["help of a group for an unknown command", ["key", "help", "nope"], "Unknown command 'nope'."],
  ["help for a command of a command", ["help", "key", "list", "nope"], "Unknown command 'nope'."],
  ["help for an option", ["help", "--nope"], "Unknown option '--nope'."],
  ["a group without its command", ["key"], /^A command is missing/],
  ["an unknown command of a group", ["key", "frobnicate"], /^Unknown command 'frobnicate'\.$/],
  ["a missing option", ["key", "create", ...user], /'--name <name>' not specified/],
  ["a missing value", ["key", "create", ...user, "--name"], /argument missing/],
  ["an unknown option", ["migrate", "--force"], /^Unknown option '--force'\.$/],
  ["a missing argument", ["key", "delete"], /^Missing required argument 'id'/],
  ["a backup without a file", ["backup"], /^Missing required argument 'file'/],
  ["a restore of two files", ["restore", "a", "b"], /^Too many arguments .*[^.]\.$/],
  [
    "a backup to a file without a name",
    ["backup", ""],
    '<file>: "" is not valid. Expected the path of a file.',
  ],
  ["a backup to standard output", ["backup", "-"], /^<file>: "-" is not valid\. A backup can't be written/],
  ["workspace without its command", ["workspace"], /^A command is missing/],
  ["a workspace without an owner", ["workspace", "create", "--name", "n"], /'--owner <user>' not specified/],
  ["a workspace without a name", ["workspace", "create", "--owner", "a@b.c"], /'--name <name>' not/],
  ["an unconfirmed deletion", ["workspace", "delete", workspace], /'--confirm <slug>' not specified/],
  ["a list with an argument", ["workspace", "list", "all"], /^Too many arguments .*[^.]\.$/],
  ["member without its command", ["member"], /^A command is missing/],
  ["a member without a role", ["member", "add", "--workspace", workspace, ...user], /'--role <role>' not/],
  ["a member of no workspace", ["member", "remove", ...user], /'--workspace <id>' not specified/],
  ["no member to remove", ["member", "remove", "--workspace", workspace], /'--user <user>' not specified/],
  ["an argument too many", ["migrate", "now"], /^Too many arguments .*[^.]\.$/],
  [
    "a password on the command line",
    ["user", "create", "--email", "a@b.c", "--name", "n", "--password-stdin", "--password", "secret"],
    /^Unknown option '--password'/,
  ],
])("%s is a usage error", async (_what, args, message) => {
  await expectUsageError(args, message);
});

test.each([
  [["help"], /^Usage: latchkey \[options\] \[command\]\n/],
  [["help", "key"], /^Usage: latchkey key /],
  [["help", "key", "edit"], /^Usage: latchkey key edit /],
  [["key", "help", "edit"], /^Usage: latchkey key edit /],
  [["help", "workspace", "rename"], /^Usage: latchkey workspace edit\|rename /],
  [["help", "help"], /^Usage: latchkey help /],
])("%j prints help", async (args, help) => {
  const chunks: string[] = [];
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(String(chunk));
      done();
    },
  });
  const io = { ...process, stdout, loadEnv: async () => readEnv({}) };
  await createProgram(io).parseAsync(args, { from: "user" });
  expect(chunks.join("")).toMatch(help);
});

/** An issued key of a keyspace with the prefix `acme`, the same in each run. */
const { secret: issued } = createIssuedKey("acme", (size) => Buffer.alloc(size));

const apiKey = `lk_${"a".repeat(36)}`;
const keyspaceId = "ks_01h455vb4pex5vsknk084sn02q";

test.each([
  [[issued], "Unknown command 'acme_…'."],
  [["issued-key", issued], "Unknown command 'acme_…'."],
  [["migrate", `--${issued}`], "Unknown option '--acme_…'."],
  [["help", "migrate", issued], "Unknown command 'acme_…'."],
  [["import", "keys", issued, "--keyspace", keyspaceId, "--format", "csv"], 'There is no file "acme_…".'],
  [["issued-key", "disable", issued], /^<ids>: "acme_…" is not valid\. Expected the ID of an issued key/],
  [["issued-key", "disable", `${issued} ${issued}`], /^<ids>: "acme_… acme_…" is not valid\. /],
  [["issued-key", "disable", `${apiKey}${issued}`], /^<ids>: "lk_aaaaaa…acme_…" is not valid\. /],
  [["issued-key", "disable", `${apiKey}${apiKey}`], /^<ids>: "lk_aaaaaa…lk_…" is not valid\. /],
])("%j doesn't repeat the key", async (args, message) => {
  await expectUsageError(args, message);
});

const expectedUser = `Expected an email address or the ID of a user, such as ${userId}.`;
const expectedKey = `Expected the ID of an API key, such as ${id}.`;

test.each([
  [["user", "disable", "nobody"], `<user>: "nobody" is not valid. ${expectedUser}`],
  [["user", "enable", id], `<user>: "${id}" is not valid. ${expectedUser}`],
  [["key", "create", ...user, "--name", " "], '--name: " " is not valid. Enter a name.'],
  [["key", "list", "--user", "x"], `--user: "x" is not valid. ${expectedUser}`],
  [["key", "show", "1234"], `<id>: "1234" is not valid. ${expectedKey}`],
  [["key", "delete", userId], `<id>: "${userId}" is not valid. ${expectedKey}`],
  // A key that is given instead of its ID isn't repeated, because errors end up in the logs of scripts.
  [["key", "delete", apiKey], `<id>: "lk_aaaaaa…" is not valid. ${expectedKey}`],
  [
    ["key", "rotate", id, "--overlap", "soon"],
    /^--overlap: "soon" is not valid\. Expected a duration from 0s to 30d/,
  ],
  [["key", "rotate", id, "--overlap", "31d"], /^--overlap: "31d" is not valid\. .*from 0s to 30d/],
  [["member", "add", "--workspace", "1", ...user, "--role", "viewer"], /^--workspace: "1" is not valid/],
  [
    ["member", "role", "--workspace", workspace, ...user, "--role", "king"],
    '--role: "king" is not valid. Expected owner, admin, member, or viewer.',
  ],
  [["member", "add", "--workspace", workspace, ...user, "--role", "Owner"], /^--role: "Owner" is not valid/],
  [["member", "remove", "--workspace", id, ...user], /^--workspace: "key_01h.*" is not valid/],
  [["member", "remove", "--workspace", workspace, "--user", "me"], /^--user: "me" is not valid/],
  [["member", "list", "--workspace", "x"], /^--workspace: "x" is not valid/],
  [["workspace", "create", "--owner", "nobody", "--name", "n"], /^--owner: "nobody" is not valid/],
  [["workspace", "create", "--owner", "a@b.co", "--name", "a\nb"], /^--name: "a\\nb" is not valid/],
  [["workspace", "edit", workspace, "--name", " "], /^--name: " " is not valid/],
  [["workspace", "edit", workspace, "--description", "d".repeat(501)], /Use at most 500 characters\.$/],
  [["workspace", "edit", workspace], /^Nothing to change\. /],
  [["workspace", "rename", workspace], /^Nothing to change\. /],
  [["workspace", "delete", "1", "--confirm", "n"], /^<id>: "1" is not valid/],
])("%j is rejected, naming the value and what is allowed", async (args, message) => {
  await expectUsageError(args, message);
});

const expectedDuration = "Expected <number><unit> with the unit s, m, h or d, for example 15m.";
const expectedRange = "Expected an IP address or a range in CIDR notation, such as 203.0.113.0/24.";

test.each([
  ["--expires-in", "soon", expectedDuration],
  ["--expires-in", "0s", "Use at least 1s."],
  ["--expires-in", "999999999d", "Use at most 36500d."],
  ["--limit", "many", "Expected <requests>/<window>, for example 100/60s."],
  ["--limit", "100", "Expected <requests>/<window>, for example 100/60s."],
  ["--limit", "0/60s", "Allow at least 1."],
  ["--workspace", "nonsense", `Expected the ID of a workspace, such as ${workspace}.`],
  ["--ip", "10.0.0.0/33", expectedRange],
])("key create and key edit reject %s %s", async (option, value, allowed) => {
  const message = `${option}: ${JSON.stringify(value)} is not valid. ${allowed}`;
  await expectUsageError(["key", "create", ...user, "--name", "CI", option, value], message);
  await expectUsageError(["key", "edit", id, option, value], message);
});

test.each([
  [["--permission", "keys:eat"], /^--permission: "keys:eat" is not valid\. Expected workspace:read, .*\.$/],
  [["--limit", "1/2d"], /^--limit: "1\/2d" is not valid\. .*86400/],
  [["--expires-at", "tomorrow"], /^--expires-at: "tomorrow" is not valid\. .*ISO 8601/],
  [["--name", "\u001b[2J"], /^--name: "\\u001b\[2J" is not valid\. /],
  [["--name", "n".repeat(101)], /^--name: "n{60}…" is not valid\. Use at most 100 characters\.$/],
  [["--ip", "::1", "--ip", "here"], /^--ip: "here" is not valid\. /],
  [["--ip", "x", "--limit", "y"], /^--ip: "x" is not valid\. .*--limit: "y" is not valid\. /],
  [[], /^Nothing to change\. /],
  [["--expand-access"], /^Nothing to change\. /],
  [["--expires-in", "1d", "--no-expiry"], /'--expires-in <duration>' cannot be used with .*'--no-expiry'/],
  [["--limit", "1/1s", "--no-limit"], /'--limit <requests>\/<window>' cannot be used with .*'--no-limit'/],
  [["--no-limit", "--limit", "1/1s"], /'--limit <requests>\/<window>' cannot be used with .*'--no-limit'/],
  [["--read-only", "--no-read-only"], /'--read-only' cannot be used with .*'--no-read-only'/],
  [["--expires-at", "2099-01-01T00:00:00Z", "--no-expiry"], /cannot be used with .*'--no-expiry'/],
  [["--expires-in", "1d", "--expires-at", "2099-01-01T00:00:00Z"], /cannot be used with/],
  [["--workspace", workspace, "--all-workspaces"], /'--all-workspaces' cannot be used with/],
  [["--permission", "members:read", "--all-permissions"], /'--all-permissions' cannot be used with/],
  [["--ip", "::1", "--any-ip"], /'--any-ip' cannot be used with/],
])("key edit rejects %j", async (options, message) => {
  await expectUsageError(["key", "edit", id, ...options], message);
});

test.each([
  [["user", "list"]],
  [["user", "disable", "ada@example.com"]],
  [["user", "enable", userId]],
  [["user", "end-sessions", userId]],
  [["instance", "show"]],
  [["webhook", "create", "--workspace", workspace, "--url", "https://example.com/hook"]],
  [["key", "create", ...user, "--name", "n"]],
  [["key", "list"]],
  [["key", "show", id]],
  [["key", "edit", id, "--name", "n"]],
  [["key", "rotate", id]],
  [["key", "disable", id]],
  [["key", "enable", id]],
  [["key", "delete", id]],
  [["workspace", "create", "--owner", "ada@example.com", "--name", "n"]],
  [["workspace", "list"]],
  [["workspace", "edit", workspace, "--name", "n"]],
  [["workspace", "rename", workspace, "--name", "n"]],
  [["workspace", "delete", workspace, "--confirm", "n"]],
  [["member", "add", "--workspace", workspace, ...user, "--role", "viewer"]],
  [["member", "list", "--workspace", workspace]],
  [["member", "role", "--workspace", workspace, ...user, "--role", "viewer"]],
  [["member", "remove", "--workspace", workspace, ...user]],
])("without a database, %j reports that and creates none", async (args) => {
  expect(await run(args)).toEqual({
    status: 1,
    error: {
      code: "NOT_FOUND",
      message:
        `There is no Latchkey database in ${join(directory, "data")}. ` +
        "Set DATA_DIR, or DATABASE_URL for your own Postgres, to an existing one, or create it with `latchkey migrate`.",
    },
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import type { InProcessNode } from "../support/node-in-process.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { runCommand } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// The audit log that the command exports while a server runs.

const ada = "ada@example.com";

let instance: TestInstance;
let node: InProcessNode;
let workspace: string;
let key: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  const user = [
    "user",
    "create",
    "--email",
    ada,
    "--name",
    "=Ada",
    "--password-stdin",
    "--workspace",
    "=Engines",
  ];
  const { workspaceId } = await perform(user, "twelve characters or more");
  workspace = String(workspaceId);
  ({ key } = (await perform(["key", "create", "--user", ada, "--name", "auditor"])) as { key: string });
  await fetch(`${node.baseUrl}/open/workspaces/${workspace}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "@Engines" }),
  });
});

afterAll(async () => {
  await instance?.close();
});

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args], input));
}

/** Runs the export in a process of its own, as an operator does. */
async function exportLog(args: readonly string[]): Promise<string> {
  const command = ["audit", "export", workspace, ...args];
  return expectText(await runCommand(command, { DATA_DIR: instance.dataDirectory }));
}

const actionsOf = (text: string): unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).action);

test("audit export prints NDJSON like the open API's, newest first", async () => {
  const text = await exportLog(["--format", "ndjson"]);
  expect(actionsOf(text)).toEqual(["workspace.renamed", "key.created", "workspace.created"]);
  const response = await fetch(`${node.baseUrl}/open/workspaces/${workspace}/audit-events/export`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(await response.text()).toBe(text);
});

test("audit export prints CSV without formulas, even with --json", async () => {
  const text = await exportLog(["--format", "csv", "--json", "--action", "workspace.renamed"]);
  const [head, row, end] = text.split("\r\n");
  expect(head).toMatch(
    /^id,occurredAt,action,.*,actor\.userKind,target\.userKind,target\.owner\.id,target\.owner\.name,target\.owner\.kind$/,
  );
  expect(row).toMatch(/,workspace\.renamed,key,usr_\w+,"'=Ada",key_/);
  expect(row).toContain('"{""name"":""@Engines""}"');
  expect(end).toBe("");
});

test("audit export filters by time, actor and target", async () => {
  expect(actionsOf(await exportLog(["--format", "ndjson", "--to", "2026-01-01"]))).toEqual([]);
  const since = await exportLog(["--format", "ndjson", "--from", "2020-01-01T00:00:00Z"]);
  expect(actionsOf(since)).toHaveLength(3);
  expect(actionsOf(await exportLog(["--format", "ndjson", "--actor", ada]))).toEqual(["workspace.renamed"]);
  const target = ["--target", workspace];
  expect(actionsOf(await exportLog(["--format", "ndjson", ...target]))).toHaveLength(2);
});

test("audit export reports an unknown workspace and an unknown user", async () => {
  const unknown = "ws_01h455vb4pex5vsknk084sn02q";
  expectFailure(await instance.command(["audit", "export", unknown, "--format", "csv"]), {
    status: 1,
    code: "NOT_FOUND",
    message: `There is no workspace ${unknown}.`,
  });
  expectFailure(
    await instance.command(["audit", "export", workspace, "--format", "csv", "--actor", "x@example.com"]),
    { status: 1, code: "NOT_FOUND", message: "There is no user x@example.com." },
  );
});

test.each([
  [["--format", "xml"], '--format: "xml" is not valid. Expected csv or ndjson.'],
  [
    ["--format", "csv", "--from", "yesterday"],
    '--from: "yesterday" is not valid. Expected a date or a time in UTC, such as 2026-03-01 or 2026-03-01T09:30:00Z.',
  ],
  [
    ["--format", "csv", "--target", "me"],
    '--target: "me" is not valid. Expected the ID of a user, an API key, an invitation, a webhook, a keyspace, an issued key, a consumer or a workspace.',
  ],
  [
    ["--format", "csv", "--action", "nothing"],
    /^--action: "nothing" is not valid\. Expected one of key\.created,/,
  ],
])("audit export rejects %j", async (args: string[], message) => {
  const ending = await instance.command(["audit", "export", workspace, ...args]);
  expectFailure(ending, { status: 2, code: "BAD_REQUEST", message });
});

test("audit export has what a service account did, even after its deletion, and rejects no ID of a webhook", async () => {
  const account = ["service-account", "create", "--workspace", workspace, "--name", "Bot", "--role", "admin"];
  const userId = String((await perform(account)).userId);
  const created = await perform(["key", "create", "--user", userId, "--name", "bot"]);
  await fetch(`${node.baseUrl}/open/workspaces/${workspace}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${created.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "Renamed by a bot" }),
  });
  const byBot = ["audit", "export", workspace, "--format", "ndjson", "--actor", userId];
  expect(actionsOf(expectText(await instance.command(byBot)))).toEqual(["workspace.renamed"]);
  await perform(["service-account", "delete", userId]);
  expect(actionsOf(expectText(await instance.command(byBot)))).toEqual(["workspace.renamed"]);
  const ofWebhook = ["--format", "ndjson", "--target", "whk_01h455vb4pex5vsknk084sn02q"];
  expect(expectText(await instance.command(["audit", "export", workspace, ...ofWebhook]))).toBe("");
});

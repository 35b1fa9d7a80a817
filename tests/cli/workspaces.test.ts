import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { callProcedure, signIn } from "../support/account.ts";
import { runCommandInProcess } from "../support/command.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { bareEnvironment, projectRoot } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Workspaces that the command creates, changes and deletes while a server runs.

const password = "twelve characters or more";
const grace = "grace@example.com";
const ada = "ada@example.com";

let instance: TestInstance;
let node: InProcessNode;

beforeAll(async () => {
  // One test creates more workspaces for one user than the default quota allows.
  instance = await createPreparedInstance({ MAX_WORKSPACES_PER_USER: "1000" });
  node = await instance.startInProcess();
  for (const [email, workspace] of [
    [grace, "Navy"],
    [ada, "Engines"],
  ] as const) {
    const user = ["user", "create", "--email", email, "--name", "Somebody"];
    await perform([...user, "--password-stdin", "--workspace", workspace], password);
  }
});

afterAll(async () => {
  await instance?.close();
});

async function perform(args: readonly string[], input?: string): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args], input));
}

const create = (owner: string, name: string): string[] => [
  ...["workspace", "create"],
  ...["--owner", owner, "--name", name],
];

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly slug: string;
  readonly memberCount: number;
  readonly createdAt: string;
  readonly version: number;
}

async function list(): Promise<readonly Listed[]> {
  const { data, ...others } = await perform(["workspace", "list"]);
  expect(others).toEqual({});
  return data as readonly Listed[]; // What the tests below look at.
}

test("workspace create enforces the quota of its environment variables", async () => {
  const variables = { DATA_DIR: instance.dataDirectory, MAX_WORKSPACES_PER_USER: "1" };
  const ending = await runCommandInProcess(["--json", ...create(ada, "Too many")], variables);
  const message = /^The quota for workspaces owned by one user \(1\) is reached\./;
  expectFailure(ending, { status: 1, code: "UNPROCESSABLE_CONTENT", message });
});

test("workspace create creates a workspace that its owner sees in the web app immediately", async () => {
  const session = await signIn(node.baseUrl, { email: grace, password });
  const created = await perform(create("Grace@Example.com", "Bug Hunters"));
  expect(created).toEqual({
    id: expect.stringMatching(/^ws_[0-9a-z]{26}$/),
    name: "Bug Hunters",
    description: "",
    requiresSecondFactor: false,
    auditRetentionDays: null,
    isDisabled: false,
    slug: "bug-hunters",
    memberCount: 1,
    serviceAccountCount: 0,
    createdAt: expect.stringMatching(/Z$/),
    version: 1,
  });
  const { data } = await callProcedure(node.baseUrl, {
    path: "session.current",
    kind: "query",
    cookie: session.cookie ?? "",
  });
  expect(data).toMatchObject({
    workspaces: expect.arrayContaining([
      { id: created.id, name: "Bug Hunters", slug: "bug-hunters", role: "owner", isDisabled: false },
    ]),
  });
});

test("a second workspace with the same name gets another slug", async () => {
  const first = await perform(create(grace, "Twins"));
  const second = await perform(create(ada, "Twins"));
  expect(first.slug).toBe("twins");
  expect(second.slug).toMatch(/^twins-\w+$/);
});

test("workspace create without --json prints aligned lines", async () => {
  const text = expectText(await instance.command([...create(ada, "Notes"), "--description", "What to keep"]));
  const [id, ...lines] = text.split("\n");
  expect(id).toMatch(/^ID {16}ws_\w{26}$/);
  expect(lines.map((line) => line.replace(/\S+Z$/, "…"))).toEqual([
    "People            1",
    "Service accounts  0",
    "Created           …",
    "Slug              notes",
    "Status            enabled",
    "Name              Notes",
    "Second factor     optional",
    "Audit log         kept forever",
    "Description       What to keep",
    "",
  ]);
});

test("workspace create is in the audit log, with the command as the actor", async () => {
  const { id: workspaceId } = await perform(create(ada, "Audited"));
  const { key } = await perform(["key", "create", "--user", ada, "--name", "auditor"]);
  const response = await fetch(`${node.baseUrl}/open/workspaces/${workspaceId}/audit-events`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(await response.json()).toMatchObject({
    data: [
      { action: "key.created", actor: { kind: "command" }, target: { kind: "key", name: "auditor" } },
      { action: "workspace.created", actor: { kind: "command" } },
    ],
  });
});

test("rejects an unknown owner", async () => {
  const before = await list();
  expectFailure(await instance.command(create("nobody@example.com", "n")), {
    status: 1,
    code: "NOT_FOUND",
    message: /no user nobody@example\.com/,
  });
  expect(await list()).toEqual(before);
});

const unknown = "ws_01h455vb4pex5vsknk084sn02q";

test("workspace edit changes only the given fields, keeps the slug, and is in the audit log", async () => {
  const created = await perform([...create(ada, "Before"), "--description", "First"]);
  expect(created).toMatchObject({ name: "Before", description: "First" });
  const id = String(created.id);
  const described = await perform(["workspace", "edit", id, "--description", "Line 1\nLine 2"]);
  expect(described).toEqual({ ...created, description: "Line 1\nLine 2", version: 2 });
  expect((await list()).find((workspace) => workspace.id === id)).toEqual(described);
  const cleared = await perform(["workspace", "edit", id, "--description", ""]);
  expect(cleared).toEqual({ ...created, description: "", version: 3 });
  // The former name of the subcommand.
  const renamed = await perform(["workspace", "rename", id, "--name", "After"]);
  expect(renamed).toEqual({ ...cleared, name: "After", version: 4 });
  const { key } = await perform(["key", "create", "--user", ada, "--name", "reader"]);
  const log = await callOpen(node.baseUrl, String(key), `/open/workspaces/${id}/audit-events`);
  const command = { kind: "command" };
  expect(JSON.parse(log.body).data.slice(0, 3)).toMatchObject([
    { action: "key.created", actor: command },
    { action: "workspace.renamed", actor: command, before: { name: "Before" }, after: { name: "After" } },
    {
      action: "workspace.description-changed",
      actor: command,
      before: { description: "Line 1\nLine 2" },
      after: { description: "" },
    },
  ]);
  expectFailure(await instance.command(["workspace", "edit", unknown, "--name", "n"]), {
    status: 1,
    code: "NOT_FOUND",
    message: `There is no workspace ${unknown}.`,
  });
});

test("workspace delete needs the slug, and applies to the next request", async () => {
  const { id, slug } = await perform(create(ada, "Short Lived"));
  const { key } = await perform(["key", "create", "--user", ada, "--name", "reader"]);
  const status = async () => (await callOpen(node.baseUrl, String(key), `/open/workspaces/${id}`)).status;
  const remove = ["workspace", "delete", String(id)];
  expectFailure(await instance.command(remove), {
    status: 2,
    code: "BAD_REQUEST",
    message: /'--confirm <slug>' not specified/,
  });
  expectFailure(await instance.command([...remove, "--confirm", "Short Lived"]), {
    status: 1,
    code: "BAD_REQUEST",
    message: '--confirm: "Short Lived" is not the slug of the workspace. Expected short-lived.',
  });
  expect(await status()).toBe(200);
  expect(await perform([...remove, "--confirm", String(slug)])).toEqual({ id });
  expect(await status()).toBe(403);
  expect((await list()).map((workspace) => workspace.id)).not.toContain(id);
  expectFailure(await instance.command([...remove, "--confirm", String(slug)]), {
    status: 1,
    code: "NOT_FOUND",
    message: `There is no workspace ${id}.`,
  });
});

test("workspace transfer makes a member the owner, and needs --from if there are several owners", async () => {
  const { id } = await perform(create(grace, "Handover"));
  const transfer = ["workspace", "transfer", String(id)];
  const rejected = await instance.command(["--json", ...transfer, "--to", ada]);
  expectFailure(rejected, { status: 1, code: "NOT_FOUND", message: "There is no such member." });
  const member = ["--workspace", String(id), "--user", ada];
  await perform(["member", "add", ...member, "--role", "viewer"]);
  expect(await perform([...transfer, "--to", ada])).toMatchObject({
    owner: { email: ada, role: "owner" },
    formerOwner: { email: grace, role: "admin" },
  });
  await perform(["member", "role", "--workspace", String(id), "--user", grace, "--role", "owner"]);
  await perform(["member", "role", ...member, "--role", "viewer"]);
  const text = expectText(await instance.command([...transfer, "--to", ada, "--from", grace]));
  expect(text).toMatch(new RegExp(`^Owner +Somebody \\(${ada}\\)\nFormer owner, now an admin +Somebody`));
  await perform(["member", "role", "--workspace", String(id), "--user", grace, "--role", "owner"]);
  await perform(
    ["user", "create", "--email", "new@example.com", "--name", "New", "--password-stdin"],
    password,
  );
  await perform([
    "member",
    "add",
    "--workspace",
    String(id),
    "--user",
    "new@example.com",
    "--role",
    "member",
  ]);
  const unclear = await instance.command(["--json", ...transfer, "--to", "new@example.com"]);
  const message = /^This workspace has several owners\. Add --from: usr_\w+, usr_\w+\.$/;
  expectFailure(unclear, { status: 1, code: "CONFLICT", message });
});

test("user delete needs the email address, deletes workspaces without other members, and frees the address", async () => {
  const email = "leaver@example.com";
  const add = ["user", "create", "--email", email, "--name", "Leaver", "--password-stdin"];
  const { userId } = await perform(add, password);
  const { key } = await perform(["key", "create", "--user", email, "--name", "job"]);
  const call = () => callOpen(node.baseUrl, String(key), "/open/me");
  expect((await call()).status).toBe(200);
  const remove = ["user", "delete", email, "--confirm"];
  const unconfirmed = await instance.command(["--json", ...remove, ada]);
  const message = `--confirm: "${ada}" is not the email address of the user. Expected ${email}.`;
  expectFailure(unconfirmed, { status: 1, code: "BAD_REQUEST", message });
  expect(await perform([...remove, email])).toEqual({
    id: userId,
    email,
    keyCount: 1,
    workspaces: [{ id: expect.stringMatching(/^ws_/), name: "Leaver’s workspace" }],
  });
  expect((await call()).status).toBe(403);
  expect((await perform(add, password)).userId).not.toBe(userId);
  const operator = await instance.command(["--json", "user", "delete", grace, "--confirm", grace]);
  expectFailure(operator, {
    status: 1,
    code: "CONFLICT",
    message: /^The only operator who can sign in can’t be deleted/,
  });
});

test("workspace edit changes how long the audit log is kept, and rejects less than 30 days", async () => {
  const { id } = await perform(create(ada, "Kept"));
  const edit = (days: string) => ["workspace", "edit", String(id), "--audit-retention-days", days];
  expect(await perform(edit("90"))).toMatchObject({ auditRetentionDays: 90, version: 2 });
  expect(await perform(edit("none"))).toMatchObject({ auditRetentionDays: null, version: 3 });
  for (const days of ["29", "3651", "forever"])
    expect((await instance.command(edit(days))).status, days).toBe(2);
});

test("workspace list prints the workspaces of all users, with the numbers of people and service accounts", async () => {
  const { id: workspaceId } = await perform(create(ada, "Both, and “both”"));
  const member = ["member", "add", "--workspace", String(workspaceId), "--user", grace, "--role", "viewer"];
  await perform(member);
  const account = ["service-account", "create", "--workspace", String(workspaceId), "--name", "Deploys"];
  await perform([...account, "--role", "viewer"]);
  const workspaces = await list();
  expect(workspaces).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "Navy", slug: "navy", memberCount: 1 }),
      expect.objectContaining({ name: "Engines", slug: "engines", memberCount: 1 }),
      {
        id: workspaceId,
        name: "Both, and “both”",
        description: "",
        requiresSecondFactor: false,
        auditRetentionDays: null,
        isDisabled: false,
        slug: "both-and-both",
        memberCount: 2,
        serviceAccountCount: 1,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        version: 1,
      },
    ]),
  );
});

test("workspace list without --json is a table", async () => {
  const workspaces = await list();
  const lines = expectText(await instance.command(["workspace", "list"])).split("\n");
  expect(lines[0]).toMatch(/^ID +PEOPLE +CREATED +SLUG +STATUS +NAME$/);
  expect(lines.slice(1, -1).map((line) => line.split(/ {2,}/))).toEqual(
    workspaces.map(({ id, memberCount, createdAt, slug, name }) => [
      ...[id, String(memberCount)],
      ...[createdAt.replace(/\.\d+/, ""), slug, "enabled", name],
    ]),
  );
});

test("workspace list omits and repeats none, in the order of their IDs, with any number of workspaces", async () => {
  const { key } = await perform(["key", "create", "--user", grace, "--name", "maker"]);
  const made: string[] = [];
  for (let count = 1; count <= 230; count += 1) {
    const response = await fetch(`${node.baseUrl}/open/workspaces`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name: `Number ${count}` }),
    });
    const { id } = (await response.json()) as { id: string }; // The open API's own shape.
    made.push(id);
  }
  const workspaces = await list();
  const ids = workspaces.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(ids.filter((id) => made.includes(id))).toEqual(made);
  expect(workspaces.filter(({ memberCount }) => memberCount === 1).length).toBeGreaterThanOrEqual(230);
});

test.each(["", "--json"])(
  "a reader that stops reading workspace list %s early ends it without an error",
  async (option) => {
    const command = `"$NODE" "$LATCHKEY" workspace list ${option}`;
    const { stdout, stderr } = await promisify(execFile)(
      "/bin/sh",
      ["-c", `(${command}; echo "status $?" >&2) | true`],
      {
        env: {
          ...bareEnvironment,
          NODE: process.execPath,
          LATCHKEY: join(projectRoot, "apps/api/src/cli/latchkey.ts"),
          DATA_DIR: instance.dataDirectory,
        },
      },
    );
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "status 0\n" });
  },
);

test("key rotate fails if its output has no reader, because the secret is lost", async () => {
  const { id } = await perform(["key", "create", "--user", ada, "--name", "job"]);
  const directory = await mkdtemp(join(tmpdir(), "latchkey-pipe-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  // The pipe has no reader from the beginning, so the result doesn't depend on timing.
  const open = `mkfifo "$PIPE" && exec 3<>"$PIPE" 4>"$PIPE" 3<&-`;
  const { stdout } = await promisify(execFile)(
    "/bin/sh",
    ["-c", `${open}; "$NODE" "$LATCHKEY" --json key rotate ${id} 2>&1 >&4 4>&-; echo "status $?"`],
    {
      env: {
        ...bareEnvironment,
        NODE: process.execPath,
        LATCHKEY: join(projectRoot, "apps/api/src/cli/latchkey.ts"),
        DATA_DIR: instance.dataDirectory,
        PIPE: join(directory, "pipe"),
      },
    },
  );
  const [error = "", ...others] = stdout.trimEnd().split("\n");
  expect(JSON.parse(error)).toMatchObject({ error: { message: expect.stringContaining("output was lost") } });
  expect(others).toEqual(["status 1"]);
});

import { afterAll, beforeAll, expect, test } from "vitest";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult } from "./expect-result.ts";

// Service accounts that the command manages; a running server applies the changes immediately.

const password = "twelve characters or more";

let instance: TestInstance;
let node: InProcessNode;
let workspaceId: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  const identity = ["--email", "ada@example.com", "--name", "Ada"];
  const user = ["user", "create", ...identity, "--password-stdin", "--json"];
  workspaceId = String(expectResult(await instance.command(user, password)).workspaceId);
});

afterAll(async () => {
  await instance?.close();
});

async function perform(args: readonly string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

const create = (role: string): string[] => [
  ...["service-account", "create", "--workspace", workspaceId],
  ...["--name", "Deploys", "--role", role],
];

test("a service account and its key are created, changed, disabled and deleted while a server runs", async () => {
  const created = await perform(create("viewer"));
  const { userId: id } = created;
  expect(created).toEqual({
    workspaceId,
    userId: expect.stringMatching(/^usr_/),
    name: "Deploys",
    role: "viewer",
    isDisabled: false,
    createdAt: expect.any(String),
    version: 1,
  });
  const account = String(id);
  const { key } = await perform(["key", "create", "--user", account, "--name", "Pipeline"]);
  const read = async (path: string) => (await callOpen(node.baseUrl, String(key), `/open${path}`)).status;
  const path = `/workspaces/${workspaceId}`;
  expect(await read(path)).toBe(200);
  expect(await read(`${path}/audit-events`)).toBe(403);
  expect(
    await perform(["service-account", "edit", account, "--name", "Releases", "--role", "admin"]),
  ).toMatchObject({
    name: "Releases",
    role: "admin",
    version: 2,
  });
  expect(await read(`${path}/audit-events`)).toBe(200);
  expect(await perform(["service-account", "list", "--workspace", workspaceId])).toMatchObject({
    data: [{ userId: account, name: "Releases" }],
  });
  expect(await perform(["member", "list", "--workspace", workspaceId])).toMatchObject({
    data: [
      { kind: "person", email: "ada@example.com" },
      { kind: "service_account", email: null },
    ],
  });
  expect(await perform(["key", "list", "--user", account])).toMatchObject({ data: [{ name: "Pipeline" }] });
  expect(await perform(["service-account", "disable", account])).toMatchObject({ isDisabled: true });
  expect(await read(path)).toBe(403);
  expect(await perform(["service-account", "enable", account])).toMatchObject({ isDisabled: false });
  expect(await read(path)).toBe(200);
  expect(await perform(["service-account", "delete", account])).toEqual({ userId: account });
  expect(await read(path)).toBe(403);
  for (const args of [
    ["service-account", "delete", account],
    ["key", "create", "--user", account, "--name", "Pipeline"],
    ["key", "list", "--user", account],
    ["member", "remove", "--workspace", workspaceId, "--user", account],
  ]) {
    const ending = await instance.command([...args, "--json"]);
    expectFailure(ending, { status: 1, code: "NOT_FOUND", message: "There is no such service account." });
  }
});

test("a service account isn’t a person for the command", async () => {
  const { userId } = await perform(create("member"));
  const id = String(userId);
  const failure = {
    status: 1,
    code: "NOT_FOUND",
    message: `${id} is a service account, not a person.`,
  } as const;
  for (const args of [
    ["user", "disable", id],
    ["user", "reset-link", id],
    ["user", "email", id, "--email", "deploys@example.com"],
    ["workspace", "create", "--name", "Own", "--owner", id],
    ["member", "add", "--workspace", workspaceId, "--user", id, "--role", "viewer"],
  ]) {
    expectFailure(await instance.command([...args, "--json"]), failure);
  }
  const { data } = await perform(["user", "list"]);
  expect(data).toEqual([expect.objectContaining({ email: "ada@example.com" })]);
});

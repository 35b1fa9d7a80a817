import { afterAll, beforeAll, expect, test } from "vitest";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// API key policies and blocked keys that the command sets; a running server applies them immediately.

const email = "ada@example.com";

let instance: TestInstance;
let node: InProcessNode;
let workspaceId: string;
let key: { readonly id: string; readonly key: string };

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  const user = ["user", "create", "--email", email, "--name", "Ada", "--password-stdin", "--json"];
  workspaceId = String(expectResult(await instance.command(user, "twelve characters or more")).workspaceId);
  const created = await perform("key", "create", "--user", email, "--name", "CI");
  key = { id: String(created.id), key: String(created.key) };
});

afterAll(async () => {
  await instance?.close();
});

async function perform(...args: string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

async function useKey(): Promise<number> {
  return (await callOpen(node.baseUrl, key.key, `/open/workspaces/${workspaceId}`)).status;
}

test("key block and key unblock decide about one workspace, and apply to the next request", async () => {
  expect(await useKey()).toBe(200);
  const workspace = ["--workspace", workspaceId];
  expect(await perform("key", "block", key.id, ...workspace)).toMatchObject({
    id: key.id,
    isBlocked: true,
    blockedByName: null,
  });
  expect(await useKey()).toBe(403);
  expect((await callOpen(node.baseUrl, key.key)).status).toBe(200);
  const listed = (await perform("workspace", "keys", workspaceId)) as { data: unknown };
  expect(listed.data).toMatchObject([{ id: key.id, isBlocked: true, owner: { email } }]);
  expect(await perform("key", "unblock", key.id, ...workspace)).toMatchObject({ isBlocked: false });
  expect(await useKey()).toBe(200);
});

test("workspace set-policy previews a policy without changing it, and then applies to the next request", async () => {
  const setPolicy = ["workspace", "set-policy", workspaceId];
  const preview = await perform(...setPolicy, "--max-lifetime", "30", "--preview");
  expect(preview.data).toMatchObject([{ id: key.id, violation: "max-lifetime", owner: { name: "Ada" } }]);
  expect(await useKey()).toBe(200);
  const rules = ["--max-lifetime", "30", "--max-idle", "7", "--require-expiry", "--require-ip-ranges"];
  const policy = {
    workspaceId,
    maxLifetimeDays: 30,
    isExpiryRequired: true,
    areIpRangesRequired: true,
    maxIdleDays: 7,
    version: 2,
  };
  expect(await perform(...setPolicy, ...rules)).toEqual(policy);
  expect(await perform("workspace", "policy", workspaceId)).toEqual(policy);
  expect(await useKey()).toBe(403);
  expect(expectText(await instance.command(["workspace", "keys", workspaceId]))).toContain("expiry-required");
  const none = ["--max-lifetime", "none", "--no-require-expiry", "--no-require-ip-ranges"];
  expect(await perform(...setPolicy, ...none)).toMatchObject({ maxLifetimeDays: null, maxIdleDays: 7 });
  expect(await useKey()).toBe(200);
  expect(expectText(await instance.command([...setPolicy, "--max-idle", "6", "--preview"]))).toBe(
    "No key would stop working.\n",
  );
});

test("the command rejects invalid policies, and keys and workspaces that don't exist", async () => {
  const setPolicy = ["--json", "workspace", "set-policy", workspaceId];
  for (const [options, message] of [
    [[], /Nothing to change/],
    [["--preview"], /Nothing to change/],
    [["--max-idle", "91"], /Expected a number of days from 1 to 90, or none/],
    [["--max-lifetime", "0"], /Expected a number of days from 1 to 3650, or none/],
    [["--require-expiry", "--no-require-expiry"], /cannot be used with/],
  ] as const) {
    const failure = { status: 2, code: "BAD_REQUEST", message } as const;
    expectFailure(await instance.command([...setPolicy, ...options]), failure);
  }
  const nowhere = "ws_01h455vb4pex5vsknk084sn02q";
  for (const args of [
    ["workspace", "policy", nowhere],
    ["workspace", "keys", nowhere],
    ["workspace", "set-policy", nowhere, "--max-idle", "7"],
    ["key", "block", key.id, "--workspace", nowhere],
    ["key", "block", "key_01h455vb4pex5vsknk084sn02q", "--workspace", workspaceId],
  ]) {
    expectFailure(await instance.command(["--json", ...args]), {
      status: 1,
      code: "NOT_FOUND",
      message: /^There is no /,
    });
  }
});

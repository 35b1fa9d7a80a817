import { afterAll, beforeAll, expect, test } from "vitest";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// The command disables and enables a workspace; a running server applies it to the next request.

const grace = "grace@example.com";

let instance: TestInstance;
let node: InProcessNode;
let workspaceId: string;
let secret: string;
let issuedKey: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  const user = ["user", "create", "--email", grace, "--name", "Grace", "--password-stdin", "--json"];
  const created = expectResult(await instance.command(user, "twelve characters or more"));
  workspaceId = String(created.workspaceId);
  const { key } = await perform("key", "create", "--user", grace, "--name", "CI");
  secret = String(key);
  const keyspace = ["keyspace", "create", "--workspace", workspaceId, "--name", "API", "--prefix", "acme"];
  const { id } = await perform(...keyspace);
  const issue = ["issued-key", "create", "--keyspace", String(id), "--name", "A"];
  issuedKey = String((await perform(...issue)).key);
});

afterAll(async () => {
  await instance?.close();
});

async function perform(...args: readonly string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

const readWorkspace = () => callOpen(node.baseUrl, secret, `/open/workspaces/${workspaceId}`);

/** The status of a request in the workspace, and the code of a verification of the issued key. */
async function readStates(): Promise<readonly unknown[]> {
  const { status } = await readWorkspace();
  const response = await fetch(`${node.baseUrl}/open/keys/verify`, {
    method: "POST",
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    body: JSON.stringify({ key: issuedKey }),
  });
  const { code } = (await response.json()) as { readonly code?: string };
  return [status, code];
}

const reach = { memberCount: 1, serviceAccountCount: 0, apiKeyCount: 1, issuedKeyCount: 1 };

test("disabling applies to the next request, and enabling restores everything", async () => {
  expect(await readStates()).toEqual([200, "VALID"]);
  for (const preview of ["disable", "enable"])
    expect(await perform("workspace", preview, workspaceId, "--preview")).toMatchObject({
      ...reach,
      id: workspaceId,
      isDisabled: false,
    });
  expect(await readStates()).toEqual([200, "VALID"]);
  for (const _twice of [1, 2]) {
    expect(await perform("workspace", "disable", workspaceId)).toMatchObject({
      id: workspaceId,
      isDisabled: true,
    });
    expect(await readStates()).toEqual([403, "DISABLED"]);
  }
  expect(expectText(await instance.command(["workspace", "keys", workspaceId]))).toContain(
    " workspace disabled ",
  );
  expect(JSON.parse((await readWorkspace()).body)).toMatchObject({
    error: { message: "Insufficient access", issues: [{ code: "workspace_disabled" }] },
  });
  // The operator can still see and change the workspace.
  expect((await perform("workspace", "list")).data).toMatchObject([{ id: workspaceId, isDisabled: true }]);
  await perform("workspace", "edit", workspaceId, "--name", "Stopped");
  expect(await perform("workspace", "enable", workspaceId)).toMatchObject({
    name: "Stopped",
    isDisabled: false,
  });
  expect(await readStates()).toEqual([200, "VALID"]);
  const { data } = await perform("instance", "log");
  const actions = (data as { readonly action: string; readonly workspace: object | null }[]).filter(
    ({ action }) => /^workspace\.(dis|en)abled$/.test(action),
  );
  expect(actions.map(({ action }) => action).sort()).toEqual(["workspace.disabled", "workspace.enabled"]);
});

test("people read the status, and what stops working", async () => {
  const text = expectText(await instance.command(["workspace", "disable", workspaceId, "--preview"]));
  expect(text).toMatch(/^Status +enabled$/m);
  expect(text).toMatch(/^Issued keys +1$/m);
  expect(expectText(await instance.command(["workspace", "disable", workspaceId]))).toMatch(
    /^Status +disabled$/m,
  );
});

test("a disabled workspace can be deleted, and an unknown one is reported", async () => {
  const { slug } = (await perform("workspace", "enable", workspaceId)) as { readonly slug: string };
  await perform("workspace", "disable", workspaceId);
  await perform("workspace", "delete", workspaceId, "--confirm", slug);
  for (const command of ["disable", "enable"])
    expectFailure(await instance.command(["--json", "workspace", command, workspaceId]), {
      status: 1,
      code: "NOT_FOUND",
      message: `There is no workspace ${workspaceId}.`,
    });
});

import { TOTP } from "otpauth";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signIn } from "../support/account.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// A second factor that the command requires in a workspace; a running server applies it immediately.

const password = "twelve characters or more";
const [ada, grace] = ["ada@example.com", "grace@example.com"];

let instance: TestInstance;
let node: InProcessNode;
let workspaceId: string;
let edit: readonly string[];

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  workspaceId = String((await createUser(ada, "Ada")).workspaceId);
  await createUser(grace, "Grace");
  await perform("member", "add", "--workspace", workspaceId, "--user", grace, "--role", "admin");
  edit = ["workspace", "edit", workspaceId];
});

afterAll(async () => {
  await instance?.close();
});

async function createUser(email: string, name: string): Promise<Record<string, unknown>> {
  const user = ["user", "create", "--email", email, "--name", name, "--password-stdin", "--json"];
  return expectResult(await instance.command(user, password));
}

async function perform(...args: readonly string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

async function createKey(user: string, name: string): Promise<{ id: string; use: () => Promise<number> }> {
  const { id, key } = await perform("key", "create", "--user", user, "--name", name);
  const use = async () =>
    (await callOpen(node.baseUrl, String(key), `/open/workspaces/${workspaceId}`)).status;
  return { id: String(id), use };
}

async function setUpFactor(email: string): Promise<void> {
  const { cookie = "" } = await signIn(node.baseUrl, { email, password });
  const call = async (path: string, input: object) => {
    const answer = await callProcedure(node.baseUrl, { path, kind: "mutation", input, cookie });
    expect(answer.status).toBe(200);
    return answer.data;
  };
  const { secret } = (await call("factors.createTotp", {})) as { secret: string };
  await call("factors.enableTotp", { code: new TOTP({ secret }).generate() });
}

test("--preview lists the members without a second factor and their keys, and changes nothing", async () => {
  await setUpFactor(ada);
  const adas = await createKey(ada, "Ada's deploys");
  const graces = await createKey(grace, "Grace's deploys");
  const unused = await createKey(grace, "Grace's backups");
  expect([await adas.use(), await graces.use()]).toEqual([200, 200]);
  const service = ["--workspace", workspaceId, "--name", "Robot", "--role", "admin"];
  const robot = await perform("service-account", "create", ...service);
  const robots = await createKey(String(robot.userId), "Robot's deploys");
  expect(await robots.use()).toBe(200);

  const preview = [...edit, "--requires-second-factor", "--preview"];
  const list = async () => (await perform(...preview)).data as readonly { lastUsedAt?: string | null }[];
  // Uses in a workspace are written in the background.
  await eventually("the use is recorded", async () => (await list())[1]?.lastUsedAt !== null);
  const owner = { name: "Grace", kind: "person" };
  const violation = "second-factor-required";
  expect(await list()).toMatchObject([
    { type: "member", email: grace, name: "Grace", role: "admin" },
    { type: "api-key", id: graces.id, name: "Grace's deploys", owner, violation },
    { type: "api-key", id: unused.id, name: "Grace's backups", owner, violation, lastUsedAt: null },
  ]);
  const lines = expectText(await instance.command(preview)).split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^ID +TYPE +LAST USED HERE +MEMBER +EMAIL ADDRESS OR KEY NAME$/),
    expect.stringMatching(/^usr_\w+ +member +- +Grace +grace@example\.com$/),
    expect.stringMatching(/^key_\w+ +API key +20\d\d-\S+Z +Grace +Grace's deploys$/),
    expect.stringMatching(/^key_\w+ +API key +not recently +Grace +Grace's backups$/),
    "",
  ]);
  expect(await graces.use()).toBe(200);

  expect(await perform(...edit, "--requires-second-factor")).toMatchObject({ requiresSecondFactor: true });
  expect([await adas.use(), await graces.use(), await unused.use(), await robots.use()]).toEqual([
    200, 403, 403, 200,
  ]);
  const none = "No member would lose access, and no key would stop working.\n";
  expect(expectText(await instance.command(preview))).toBe(none);
});

test("--preview is rejected with another change, and for a workspace that doesn't exist", async () => {
  const alone = /^--preview lists what a required second factor would stop\./;
  for (const [options, message] of [
    [["--preview"], /^Nothing to change\./],
    [["--no-requires-second-factor", "--preview"], alone],
    [["--name", "Engines", "--preview"], alone],
    [["--requires-second-factor", "--name", "Engines", "--preview"], alone],
  ] as const) {
    const failure = { status: 2, code: "BAD_REQUEST", message } as const;
    expectFailure(await instance.command(["--json", ...edit, ...options]), failure);
  }
  const nowhere = ["workspace", "edit", "ws_01h455vb4pex5vsknk084sn02q"];
  expectFailure(await instance.command(["--json", ...nowhere, "--requires-second-factor", "--preview"]), {
    status: 1,
    code: "NOT_FOUND",
    message: /^There is no /,
  });
});

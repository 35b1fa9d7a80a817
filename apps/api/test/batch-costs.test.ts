import { afterAll, beforeAll, expect, test } from "vitest";
import { batchCostOf, maxBatchCost } from "../src/procedures/batch-costs.ts";
import { router } from "../src/procedures/router.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** Calls procedures in one batch, with empty inputs. */
async function callAll(names: readonly string[], { separator = ",", cookie = "" } = {}) {
  const url = `${app.baseUrl}/trpc/${names.join(separator)}?batch=1&input=${encodeURIComponent(inputs(names))}`;
  const response = await fetch(url, { headers: { Cookie: cookie } });
  return { status: response.status, body: (await response.json()) as { error?: object } };
}

function inputs(names: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((_name, index) => [index, {}])));
}

function repeat(name: string, count: number): string[] {
  return Array.from({ length: count }, () => name);
}

test("every procedure in the cost table exists", () => {
  const names = Object.keys(router._def.procedures);
  expect(names.filter((name) => batchCostOf(name) > 1).sort()).toEqual([
    "account.changePassword",
    "account.confirmOpenid",
    "account.confirmPassword",
    "account.deletion",
    "account.linkOpenid",
    "account.setPassword",
    "account.startOpenid",
    "apiKeys.list",
    "audit.actors",
    "audit.list",
    "audit.previewRetention",
    "consumers.list",
    "invitations.list",
    "invitations.preview",
    "issuedKeyBulk.change",
    "issuedKeyBulk.rotate",
    "issuedKeyImport.importRows",
    "issuedKeys.changes",
    "issuedKeys.list",
    "issuedKeys.verify",
    "keyHistory.evaluate",
    "keyHistory.tryOut",
    "keyHistory.usage",
    "keyHistory.usageInBuckets",
    "keyspaceUsage.busiest",
    "keyspaceUsage.consumerUsage",
    "keyspaceUsage.keyUsage",
    "keyspaceUsage.keyspaceUses",
    "keyspaceUsage.recent",
    "keyspaceUsage.usage",
    "keyspaces.impact",
    "keyspaces.list",
    "keyspaces.previewDeletion",
    "members.list",
    "offboarding.preview",
    "offboarding.previewOwn",
    "operator.instance",
    "operator.log",
    "operator.users",
    "operator.workspaceReach",
    "operator.workspaces",
    "overview.keys",
    "overview.usage",
    "overview.verifications",
    "securityLog.list",
    "serviceAccounts.keys",
    "session.enterCode",
    "session.requestResetLink",
    "session.resetAccount",
    "session.resetPassword",
    "session.signIn",
    "session.signInWithOpenid",
    "session.signInWithPasskey",
    "session.signUp",
    "session.signUpInvited",
    "session.startOpenid",
    "workspaceKeys.list",
    "workspaceKeys.previewPolicy",
  ]);
});

test("a batch has at most 10 calls", async () => {
  expect((await callAll(repeat("instance.permissions", 10))).status).toBe(200);
  expect((await callAll(repeat("instance.permissions", 11))).status).toBe(400);
  expect((await callAll(repeat("instance.permissions", 60))).status).toBe(400);
});

test("a batch that costs too much is rejected without running any call", async () => {
  const { email } = await app.addUser();
  const { client, cookie } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const session = { cookie: cookie() };
  expect((await callAll(repeat("apiKeys.list", 2), session)).status).toBe(200);
  const rejected = {
    status: 400,
    body: {
      error: {
        code: "BAD_REQUEST",
        message: `These calls cost 15, and a batch may cost ${maxBatchCost}. Send them in several requests.`,
        requestId: expect.any(String),
      },
    },
  };
  expect(await callAll(repeat("apiKeys.list", 3), session)).toMatchObject(rejected);
  // tRPC decodes the path before it splits it.
  expect(await callAll(repeat("apiKeys.list", 3), { ...session, separator: "%2C" })).toMatchObject(rejected);
});

test("a batch with a sign-in can't contain other calls", async () => {
  const { email } = await app.addUser();
  const signIn = async (count: number, others: readonly string[] = []) => {
    const names = [...repeat("session.signIn", count), ...others];
    const body = Object.fromEntries(names.map((_name, index) => [index, { email, password }]));
    const response = await fetch(`${app.baseUrl}/trpc/${names.join(",")}?batch=1`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return [response.status, response.headers.getSetCookie().length > 0];
  };
  expect(await signIn(2)).toEqual([400, false]);
  expect(await signIn(1, ["session.signOut"])).toEqual([400, false]);
  expect(await signIn(1)).toEqual([200, true]);
});

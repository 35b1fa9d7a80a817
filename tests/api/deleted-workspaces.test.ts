import { afterAll, beforeAll, expect, test } from "vitest";
import { expectResult } from "../cli/expect-result.ts";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Every way to delete a workspace with keyspaces, as the product's login role, to which row-level security applies.

let instance: TestInstance;
let node: InProcessNode;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
});

afterAll(async () => {
  await instance?.close();
});

async function addAccount(email: string): Promise<{ readonly key: string; readonly account: Account }> {
  const account = await signUp(node.baseUrl, email);
  return { account, key: (await createKey(node.baseUrl, account, "first")).key };
}

type Json = Readonly<Record<string, unknown>>;

async function send(
  key: string,
  method: string,
  path: string,
  body?: Json,
): Promise<Json & { status: number }> {
  const response = await fetch(`${node.baseUrl}/open${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { ...(text ? (JSON.parse(text) as Json) : {}), status: response.status }; // The open API's format.
}

interface Doomed {
  readonly email: string;
  readonly key: string;
  readonly account: Account;
  readonly workspaceId: string;
}

/** Deletes the workspace, of which the account is the only member; its slug is the name. */
const deletions: Record<string, (doomed: Doomed, slug: string) => Promise<unknown>> = {
  "the open API": async ({ key, workspaceId }) =>
    expect((await send(key, "DELETE", `/workspaces/${workspaceId}`)).status).toBe(204),
  "the web app": async ({ account: { cookie }, workspaceId }) =>
    expect(
      await callProcedure(node.baseUrl, {
        path: "workspaces.delete",
        kind: "mutation",
        input: { workspaceId },
        cookie,
      }),
    ).toMatchObject({ status: 200 }),
  "account deletion": async ({ account: { cookie }, email }) =>
    expect(
      await callProcedure(node.baseUrl, {
        path: "account.delete",
        kind: "mutation",
        input: { email },
        cookie,
      }),
    ).toMatchObject({ status: 200 }),
  "workspace delete": async ({ workspaceId }, slug) =>
    expectResult(await instance.command(["--json", "workspace", "delete", workspaceId, "--confirm", slug])),
  "user delete": async ({ email }) =>
    expectResult(await instance.command(["--json", "user", "delete", email, "--confirm", email])),
};

test.each(Object.keys(deletions))("issued keys end with a workspace that is deleted by %s", async (way) => {
  const email = `${way.replaceAll(" ", "-")}@example.com`;
  const { key, account } = await addAccount(email);
  const workspace = await send(key, "POST", "/workspaces", { name: email });
  const workspaceId = String(workspace.id);
  const keyspaces = `/workspaces/${workspaceId}/keyspaces`;
  const keyspace = await send(key, "POST", keyspaces, { name: "Production", prefix: "acme" });
  const issued = await send(key, "POST", `${keyspaces}/${keyspace.id}/keys`, { name: "first" });
  const verify = () => send(key, "POST", "/keys/verify", { key: issued.key });
  expect(await verify()).toMatchObject({ code: "VALID" });
  await deletions[way]?.({ email, key, account, workspaceId }, String(workspace.slug));
  const after = await verify();
  // No user is left who could verify a key of a deleted account, because the workspace had no other member.
  if (way === "account deletion" || way === "user delete") expect(after.status).toBe(403);
  else expect(after).toMatchObject({ status: 200, code: "NOT_FOUND" });
});

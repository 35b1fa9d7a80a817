import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure } from "../support/account.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Invitations that the command creates; people accept them on a running server.

const password = "twelve characters or more";

let instance: TestInstance;
let node: InProcessNode;
let workspaceId: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  const user = [
    "user",
    "create",
    "--email",
    "ada@example.com",
    "--name",
    "Ada",
    "--password-stdin",
    "--json",
  ];
  workspaceId = String(expectResult(await instance.command(user, password)).workspaceId);
});

afterAll(async () => {
  await instance?.close();
});

async function perform(args: readonly string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

const create = (email: string, role = "viewer"): string[] => [
  ...["invitation", "create", "--workspace", workspaceId],
  ...["--email", email, "--role", role],
];

test("invitation create prints a link, with which a person joins", async () => {
  const created = await perform(create("Grace@example.com", "owner"));
  expect(created).toMatchObject({
    workspaceId,
    id: expect.stringMatching(/^inv_/),
    email: "grace@example.com",
    role: "owner",
    status: "pending",
    invitedBy: null,
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/invitation#[\w-]{43}$/),
  });
  const token = String(created.url).split("#")[1];
  const joined = await callProcedure(node.baseUrl, {
    path: "session.signUpInvited",
    kind: "mutation",
    input: { token, name: "Grace", password },
  });
  expect(joined).toMatchObject({ status: 200, data: { workspaces: [{ id: workspaceId, role: "owner" }] } });
});

test("invitation list and revoke show and end invitations", async () => {
  const list = ["invitation", "list", "--workspace", workspaceId];
  expect(expectText(await instance.command(list))).toBe("No invitations.\n");
  const { id, url } = await perform(create("ken@example.com"));
  const listed = expectText(await instance.command(list));
  expect(listed).toContain("ken@example.com");
  expect(listed).not.toContain("#");
  expect(await perform(["invitation", "revoke", "--workspace", workspaceId, String(id)])).toEqual({
    workspaceId,
    id,
  });
  const preview = await callProcedure(node.baseUrl, {
    path: "invitations.preview",
    kind: "mutation",
    input: { token: String(url).split("#")[1] },
  });
  expect(preview).toMatchObject({ status: 404, code: "NOT_FOUND" });
  expectFailure(
    await instance.command(["--json", "invitation", "revoke", "--workspace", workspaceId, String(id)]),
    {
      status: 1,
      code: "NOT_FOUND",
      message: /no such invitation/,
    },
  );
});

test("invitation resend prints another link, and the former one stops working", async () => {
  const { id, url } = await perform(create("joan@example.com"));
  const resend = ["invitation", "resend", "--workspace", workspaceId, String(id)];
  const resent = await perform(resend);
  expect(resent).toMatchObject({ workspaceId, id, email: "joan@example.com", status: "pending" });
  const preview = async (link: unknown) =>
    await callProcedure(node.baseUrl, {
      path: "invitations.preview",
      kind: "mutation",
      input: { token: String(link).split("#")[1] },
    });
  expect(await preview(url)).toMatchObject({ status: 404, code: "NOT_FOUND" });
  expect(await preview(resent.url)).toMatchObject({ status: 200, data: { email: "joan@example.com" } });
  await perform(["invitation", "revoke", "--workspace", workspaceId, String(id)]);
  expectFailure(await instance.command(resend), {
    status: 1,
    code: "NOT_FOUND",
    message: /no such invitation/,
  });
});

test("invitation commands reject what isn't valid", async () => {
  expectFailure(await instance.command(["--json", ...create("ken")]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /--email/,
  });
  expectFailure(await instance.command(["--json", ...create("ada@example.com")]), {
    status: 1,
    code: "CONFLICT",
    message: /already a member/,
  });
  const revoke = ["--json", "invitation", "revoke", "--workspace", workspaceId, "inv_nonsense"];
  expectFailure(await instance.command(revoke), {
    status: 2,
    code: "BAD_REQUEST",
    message: /Expected the ID of an invitation/,
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Webhooks, which people create on a running server, as the `latchkey` command sees them.

let instance: TestInstance;
let workspaceId: string;
let id: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  const { baseUrl } = await instance.start();
  const account = await signUp(baseUrl);
  ({ workspaceId } = await getMembership(baseUrl, account));
  const created = await callProcedure(baseUrl, {
    path: "webhooks.create",
    kind: "mutation",
    cookie: account.cookie,
    input: { workspaceId, url: "https://example.com/hook?token=1", actions: ["workspace.renamed"] },
  });
  ({ id } = created.data as { id: string }); // The router's response.
});
afterAll(async () => {
  await instance?.close();
});

const run = (command: readonly string[]) =>
  instance.command(["--json", "webhook", ...command, "--workspace", workspaceId]);

test("lists, disables, enables and deletes a webhook, and prints no secret", async () => {
  const listed = expectResult(await run(["list"])).data;
  expect(listed).toEqual([expect.objectContaining({ id, workspaceId, isDisabled: false })]);
  expect(JSON.stringify(listed)).not.toContain("whsec_");
  expect(expectResult(await run(["disable", id]))).toMatchObject({
    isDisabled: true,
    disabledReason: "user",
  });
  const text = expectText(await instance.command(["webhook", "list", "--workspace", workspaceId]));
  expect(text).toContain("disabled (user)");
  expect(expectResult(await run(["enable", id]))).toMatchObject({ isDisabled: false });
  expect(expectResult(await run(["delete", id]))).toEqual({ workspaceId, id });
  expect(expectResult(await run(["list"])).data).toEqual([]);
});

test("names what is wrong with an ID, and a webhook that doesn't exist", async () => {
  const unknown = "whk_01h455vb4pex5vsknk084sn02q";
  expectFailure(await run(["disable", "nonsense"]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /Expected the ID of a webhook/,
  });
  expectFailure(await run(["delete", unknown]), {
    status: 1,
    code: "NOT_FOUND",
    message: "There is no such webhook.",
  });
});

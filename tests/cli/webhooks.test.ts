import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import {
  type ReceivedMessage,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../support/webhook-receiver.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Webhooks of a running server, which people and the `latchkey` command create.

let receiver: WebhookReceiver;
let instance: TestInstance;
let workspaceId: string;
let id: string;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  instance = await createPreparedInstance({ WEBHOOK_NETWORKS: "127.0.0.0/8" });
  const { baseUrl } = await instance.startInProcess();
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
  await receiver?.stop();
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

/** The content of a message, whose signature is checked. */
function verify({ headers, body }: ReceivedMessage, secret: unknown): unknown {
  return new Webhook(String(secret)).verify(body, headers as Record<string, string>); // Node lists these headers as strings.
}

test("creates, tests, rotates and edits a webhook, and delivers a message again", async () => {
  const options = ["--url", receiver.url, "--action", "member.added", "--action", "member.removed"];
  const created = expectResult(await run(["create", ...options, "--description", "Our SIEM"]));
  const actions = ["member.added", "member.removed"];
  expect(created).toMatchObject({ workspaceId, url: receiver.url, actions, description: "Our SIEM" });
  const hook = String(created.id);
  const sent = expectResult(await run(["test", hook]));
  expect(sent).toMatchObject({
    workspaceId,
    webhookId: hook,
    eventId: null,
    action: "webhook.test",
    status: "pending",
  });
  const readDeliveries = async (status: string) =>
    expectResult(await run(["deliveries", hook, "--status", status])).data as { attempts: object[] }[]; // The presenter's shape.
  await eventually("the message is delivered", async () => (await readDeliveries("succeeded")).length > 0);
  expect(receiver.messages.map((message) => verify(message, created.secret))).toMatchObject([
    { type: "webhook.test" },
  ]);
  expect(await readDeliveries("failed")).toEqual([]);

  const rotated = expectResult(await run(["rotate", hook, "--overlap", "0s"]));
  expect(rotated).toMatchObject({ id: hook, formerSecretExpiresAt: null });
  expect(rotated.secret).not.toBe(created.secret);
  expectResult(await run(["redeliver", hook, "--delivery", String(sent.id)]));
  const isRepeated = async () => (await readDeliveries("succeeded"))[0]?.attempts.length === 2;
  await eventually("the message is delivered again", isRepeated);
  const [, again] = receiver.messages;
  if (!again) throw new Error("There is no second message.");
  expect(verify(again, rotated.secret)).toMatchObject({ type: "webhook.test" });
  expect(() => verify(again, created.secret)).toThrow();

  const edited = expectResult(await run(["edit", hook, "--all-actions", "--description", ""]));
  expect(edited).toMatchObject({ id: hook, actions: null, description: "", url: receiver.url });
  const text = expectText(
    await instance.command(["webhook", "deliveries", hook, "--workspace", workspaceId]),
  );
  // The webhook also gets the event of its own change.
  expect(text).toMatch(
    /^ID +STATUS +CREATED +ATTEMPTS +LAST RESULT +NEXT ATTEMPT +EVENT\ndlv_.* webhook\.changed\n/,
  );
  expect(text).toMatch(/ succeeded .* 2 +204 +none +webhook\.test\n$/);
});

test("names what is wrong with a webhook", async () => {
  const failure = { status: 2, code: "BAD_REQUEST" } as const;
  expectFailure(await run(["create", "--url", "ftp://example.com"]), {
    ...failure,
    message: /^--url: "ftp:\/\/example\.com" is not valid\. Enter a URL such as /,
  });
  expectFailure(await run(["create", "--url", receiver.url, "--action", "nothing"]), {
    ...failure,
    message: /^--action: "nothing" is not valid\. Expected one of key\.created, /,
  });
  expectFailure(await run(["edit", "whk_01h455vb4pex5vsknk084sn02q"]), {
    ...failure,
    message: /^Nothing to change\./,
  });
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

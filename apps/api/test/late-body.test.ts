import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { disableUser } from "@latchkey/db/users";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rotateKey, updateKey } from "../src/domain/api-keys.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

// Somebody is let in by the headers of a request, and sends its body when they are not allowed any more.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Person {
  readonly userId: UserId;
  readonly id: KeyId;
  readonly secret: string;
}

const command = { actor: { kind: "command" }, address: null, requestId: null } as const;

/** A workspace with an owner, and a second one who will lose what they may. */
async function addPair() {
  const [first, second]: [Person, Person] = [await app.addKey(), await app.addKey()];
  const { workspace_id: workspaceId } = await app.owner
    .selectFrom("members")
    .select("workspace_id")
    .where("user_id", "=", first.userId)
    .executeTakeFirstOrThrow();
  const edit = { scope: openAsOperator(workspaceId), origin: command };
  await app.instance.db
    .transaction()
    .execute((trx) => addMember(trx, edit, { userId: second.userId, role: "owner" }));
  return { workspace: `/open/workspaces/${encodeId("workspace", workspaceId)}`, edit, second };
}

/** Sends the headers, does this once the request was admitted, and sends the body; the status. */
async function sendLate(
  { secret, id }: Person,
  [method, path]: readonly [string, string],
  meanwhile: () => Promise<unknown>,
  sent: object = { name: "Too late" },
): Promise<number | undefined> {
  const body = JSON.stringify(sent);
  const headers = {
    Authorization: `Bearer ${secret}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  };
  const late = request(app.baseUrl + path, { method, headers });
  late.flushHeaders();
  await expect
    .poll(async () => {
      const row = await app.owner
        .selectFrom("key_counters")
        .select("use_count")
        .where("key_id", "=", id)
        .executeTakeFirstOrThrow();
      return row.use_count;
    })
    .toBe(1);
  await meanwhile();
  late.end(body);
  const [response] = (await once(late, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const inTransaction = <Result>(
  work: Parameters<ReturnType<TestApp["instance"]["db"]["transaction"]>["execute"]>[0],
) => app.instance.db.transaction().execute(work) as Promise<Result>;

test.each([
  "removed",
  "demoted",
  "disabled",
  "key deleted",
  "key disabled",
  "key narrowed",
  "key kept to other addresses",
  "key rotated",
] as const)("who was %s before the body came renames nothing", async (how) => {
  const { workspace, edit, second } = await addPair();
  const { userId, id } = second;
  const status = await sendLate(second, ["PATCH", workspace], async () => {
    if (how === "removed") await inTransaction((trx) => removeMember(trx, edit, { userId }));
    if (how === "demoted")
      await inTransaction((trx) =>
        changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }),
      );
    if (how === "disabled") await inTransaction((trx) => disableUser(trx, userId));
    if (how === "key deleted") await app.deleteKey({ userId, id });
    if (how === "key disabled") await hold(second, { isDisabled: true });
    if (how === "key kept to other addresses") await hold(second, { ipRanges: ["203.0.113.0/24"] });
    if (how === "key rotated")
      await inTransaction((trx) => rotateKey(trx, { userId, id, origin: command }, 0));
    if (how === "key narrowed") await hold(second, { isReadOnly: true });
  });
  expect(status).toBe(403);
  const named = await app.owner
    .selectFrom("workspaces")
    .select("id")
    .where("name", "=", "Too late")
    .execute();
  expect(named).toEqual([]);
});

async function hold({ userId, id }: Person, settings: Partial<KeySettings>): Promise<void> {
  const edit = { userId, id, origin: command };
  await inTransaction((trx) => updateKey(trx, edit, { settings, mayExpand: true }));
}

test("a key that was held to something before the body came changes no other key", async () => {
  const person: Person = await app.addKey();
  const other = await app.addKey(person.userId);
  const path = `/open/api-keys/${encodeId("key", other.id)}`;
  const status = await sendLate(person, ["PATCH", path], () =>
    hold(person, { limit: { quota: 100, windowSeconds: 60 } }),
  );
  expect(status).toBe(403);
});

test.each([0, 3_600])(
  "a secret that was rotated before the body came gives its key no other one",
  async (overlap) => {
    const person: Person = await app.addKey();
    const { userId, id } = person;
    const path = `/open/api-keys/${encodeId("key", id)}/rotate`;
    const edit = { userId, id, origin: command };
    const rotate = () => inTransaction((trx) => rotateKey(trx, edit, overlap));
    const status = await sendLate(person, ["POST", path], rotate, { overlapSeconds: 0 });
    expect(status).toBe(403);
  },
);

test("a key that was narrowed before the body came makes no workspace", async () => {
  const person: Person = await app.addKey();
  const status = await sendLate(person, ["POST", "/open/workspaces"], () =>
    hold(person, { permissions: ["workspace:read"] }),
  );
  expect(status).toBe(403);
});

test("a key that was deleted before the body came makes no workspace", async () => {
  const person: Person = await app.addKey();
  const status = await sendLate(person, ["POST", "/open/workspaces"], () => app.deleteKey(person));
  expect(status).toBe(403);
});

test("of an owner's requests at once with the demotion, none is carried out after it", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { edit, workspace, second } = await addPair();
    const { userId, secret } = second;
    const headers = { Authorization: `Bearer ${secret}` };
    let isDemoted = false;
    const reads = Array.from({ length: 20 }, () => fetch(app.baseUrl + workspace, { headers }));
    const demotion = inTransaction((trx) =>
      changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }),
    ).then(() => {
      isDemoted = true;
    });
    const deletion = fetch(app.baseUrl + workspace, { method: "DELETE", headers }).then(({ status }) => ({
      status,
      afterDemotion: isDemoted,
    }));
    await Promise.all([...reads, demotion.catch(() => undefined)]);
    const { status } = await deletion;
    // Whichever came first went through alone.
    expect([isDemoted, status]).toEqual(isDemoted ? [true, 403] : [false, 204]);
  }
});

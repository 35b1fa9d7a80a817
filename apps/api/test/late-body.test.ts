import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import type { Trx } from "@latchkey/db/schema";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { disableUser } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { TRPCClientError } from "@trpc/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { disableAccount } from "../src/domain/accounts.ts";
import { updateKey } from "../src/domain/api-key-edits.ts";
import { rotateKey } from "../src/domain/api-key-secrets.ts";
import { blockWorkspaceKeys, changePolicy } from "../src/domain/key-policies.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// Admission allows a request by its headers, and the body arrives after the access was revoked.

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

/** Creates a workspace with two owners, of whom the second loses access. */
async function addPair() {
  const [first, second]: [Person, Person] = [await app.addKey(), await app.addKey()];
  const { workspace_id: workspaceId } = await app.owner
    .selectFrom("members")
    .select("workspace_id")
    .where("user_id", "=", first.userId)
    .executeTakeFirstOrThrow();
  const edit = { scope: openAsOperator(workspaceId), origin: command };
  await app.services.db
    .transaction()
    .execute((trx) => addMember(trx, edit, { userId: second.userId, role: "owner" }, defaultQuotas));
  return { workspace: `/open/workspaces/${encodeId("workspace", workspaceId)}`, edit, first, second };
}

/** The members of a body, and the idempotency key of the request. */
interface LateBody {
  readonly [member: string]: unknown;
  readonly idempotencyKey?: string;
}

/** Sends the headers, calls `beforeBody` after admission, sends the body, and returns the status. */
async function sendLate(
  { secret, id }: Person,
  [method, path]: readonly [string, string],
  beforeBody: () => Promise<unknown>,
  { idempotencyKey, ...sent }: LateBody = { name: "Too late" },
): Promise<number | undefined> {
  const body = JSON.stringify(sent);
  const headers = {
    Authorization: `Bearer ${secret}`,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey }),
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
  await beforeBody();
  late.end(body);
  const [response] = (await once(late, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const inTransaction = <Result>(
  work: Parameters<ReturnType<TestApp["services"]["db"]["transaction"]>["execute"]>[0],
) => app.services.db.transaction().execute(work) as Promise<Result>;

test.each([
  "removed",
  "demoted",
  "disabled",
  "key deleted",
  "key disabled",
  "key restricted",
  "key restricted to other addresses",
  "key rotated",
  "key blocked",
  "key rejected by a policy",
] as const)("a rename whose body arrives after a loss of access is rejected: %s", async (how) => {
  const { workspace, edit, second } = await addPair();
  const { userId, id } = second;
  const status = await sendLate(second, ["PATCH", workspace], async () => {
    if (how === "removed") await inTransaction((trx) => removeMember(trx, edit, { userId }));
    if (how === "demoted")
      await inTransaction((trx) =>
        changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }, app.services.quotas),
      );
    if (how === "disabled") await inTransaction((trx) => disableUser(trx, userId));
    if (how === "key deleted") await app.deleteKey({ userId, id });
    if (how === "key disabled") await restrict(second, { isDisabled: true });
    if (how === "key restricted to other addresses") await restrict(second, { ipRanges: ["203.0.113.0/24"] });
    if (how === "key rotated")
      await inTransaction((trx) => rotateKey(trx, { userId, id, origin: command }, 0, defaultQuotas));
    if (how === "key restricted") await restrict(second, { isReadOnly: true });
    if (how === "key blocked") await inTransaction((trx) => blockWorkspaceKeys(trx, edit, [id]));
    if (how === "key rejected by a policy")
      await inTransaction((trx) => changePolicy(trx, edit, { changes: { isExpiryRequired: true } }));
  });
  expect(status).toBe(403);
  const named = await app.owner
    .selectFrom("workspaces")
    .select("id")
    .where("name", "=", "Too late")
    .execute();
  expect(named).toEqual([]);
});

async function restrict({ userId, id }: Person, settings: Partial<KeySettings>): Promise<void> {
  const edit = { userId, id, origin: command };
  await inTransaction((trx) => updateKey(trx, edit, { settings, mayExpand: true }, defaultQuotas));
}

test("a key that is restricted before the body arrives can't change another key", async () => {
  const person: Person = await app.addKey();
  const other = await app.addKey(person.userId);
  const path = `/open/api-keys/${encodeId("key", other.id)}`;
  const status = await sendLate(person, ["PATCH", path], () =>
    restrict(person, { limit: { quota: 100, windowSeconds: 60 } }),
  );
  expect(status).toBe(403);
});

test.each([0, 3_600])(
  "a secret that is rotated before the body arrives can't rotate its key again",
  async (overlap) => {
    const person: Person = await app.addKey();
    const { userId, id } = person;
    const path = `/open/api-keys/${encodeId("key", id)}/rotate`;
    const edit = { userId, id, origin: command };
    const rotate = () => inTransaction((trx) => rotateKey(trx, edit, overlap, defaultQuotas));
    const status = await sendLate(person, ["POST", path], rotate, { overlapSeconds: 0 });
    expect(status).toBe(403);
  },
);

test("a secret can't retry a rotation that another key makes before the body arrives", async () => {
  const person: Person = await app.addKey();
  const other = await app.addKey(person.userId);
  const path = `/open/api-keys/${encodeId("key", person.id)}/rotate`;
  const body = { overlapSeconds: 3_600 };
  const rotateByOther = () =>
    fetch(app.baseUrl + path, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${other.secret}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "shared",
      },
      body: JSON.stringify(body),
    });
  const status = await sendLate(person, ["POST", path], rotateByOther, { ...body, idempotencyKey: "shared" });
  expect(status).toBe(403);
  expect(await (await rotateByOther()).json()).toMatchObject({ secretStatus: "reissued" });
});

test("a key that is restricted before the body arrives can't create a workspace", async () => {
  const person: Person = await app.addKey();
  const status = await sendLate(person, ["POST", "/open/workspaces"], () =>
    restrict(person, { permissions: ["workspace:read"] }),
  );
  expect(status).toBe(403);
});

test("a key that is deleted before the body arrives can't create a workspace", async () => {
  const person: Person = await app.addKey();
  const status = await sendLate(person, ["POST", "/open/workspaces"], () => app.deleteKey(person));
  expect(status).toBe(403);
});

test("no request of an owner is carried out after their demotion", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { edit, workspace, second } = await addPair();
    const { userId, secret } = second;
    const headers = { Authorization: `Bearer ${secret}` };
    let isDemoted = false;
    const reads = Array.from({ length: 20 }, () => fetch(app.baseUrl + workspace, { headers }));
    const demotion = inTransaction((trx) =>
      changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }, app.services.quotas),
    ).then(() => {
      isDemoted = true;
    });
    const deletion = fetch(app.baseUrl + workspace, { method: "DELETE", headers }).then(({ status }) => ({
      status,
      afterDemotion: isDemoted,
    }));
    await Promise.all([...reads, demotion.catch(() => undefined)]);
    const { status } = await deletion;
    // Only one of the demotion and the deletion succeeds.
    expect([isDemoted, status]).toEqual(isDemoted ? [true, 403] : [false, 204]);
  }
});

describe("in the web app", () => {
  async function signedIn() {
    const { userId, email } = await app.addUser();
    const session = openClient(app.baseUrl);
    await session.client.session.signIn.mutate({ email, password });
    return { userId, ...session };
  }

  const countTooLate = async (): Promise<number> =>
    (await app.owner.selectFrom("workspaces").select("id").where("name", "=", "Too late").execute()).length;

  test.each(["signed out", "disabled", "expired"] as const)(
    "a caller who was %s before the body arrived can't change anything",
    async (how) => {
      const { userId, client, cookie } = await signedIn();
      const body = JSON.stringify({ name: "Too late" });
      const headers = {
        Cookie: cookie(),
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
      };
      const late = request(`${app.baseUrl}/trpc/workspaces.create`, { method: "POST", headers });
      late.write(body.slice(0, 5));
      await once(late, "socket").then(([socket]) => socket.connecting && once(socket, "connect"));
      // When a later request has its response, the server has read the headers of this one.
      expect(await client.session.current.query()).not.toBeNull();
      if (how === "signed out") await client.session.signOut.mutate();
      if (how === "disabled") await inTransaction((trx) => disableUser(trx, userId));
      if (how === "expired")
        await app.owner
          .updateTable("sessions")
          .set({ expires_at: new Date(0) })
          .where("user_id", "=", userId)
          .execute();
      late.end(body.slice(5));
      const [response] = (await once(late, "response")) as [IncomingMessage];
      response.resume();
      expect([response.statusCode, await countTooLate()]).toEqual([401, 0]);
    },
  );

  test("a change that waits for the lock of its user is rejected if the user is disabled", async () => {
    const { userId, client } = await signedIn();
    const commit = await hold((trx) => disableUser(trx, userId));
    const outcome = outcomeOf(client.workspaces.create.mutate({ name: "Too late" }));
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    await commit();
    expect([await outcome, await countTooLate()]).toEqual(["FORBIDDEN", 0]);
  });
});

describe("the last owner of a workspace with other members", () => {
  const disabledAt = async ({ userId }: Person): Promise<Date | null> =>
    (
      await app.owner
        .selectFrom("users")
        .select("disabled_at")
        .where("id", "=", userId)
        .executeTakeFirstOrThrow()
    ).disabled_at;
  const disable = async ({ userId }: Person): Promise<string> => await outcomeOf(app.disableUser(userId));

  test("can't be disabled while there are other members", async () => {
    const { edit, first, second } = await addPair();
    await inTransaction((trx) =>
      changeMemberRole(
        trx,
        edit,
        { userId: second.userId, role: "admin", versions: undefined },
        app.services.quotas,
      ),
    );
    expect([await disable(first), await disabledAt(first)]).toEqual(["CONFLICT", null]);
    await inTransaction((trx) => removeMember(trx, edit, { userId: second.userId }));
    expect([await disable(first), await disabledAt(first)]).toEqual(["done", expect.any(Date)]);
  });

  test("can't be disabled if the other owner is disabled", async () => {
    const { first, second } = await addPair();
    expect(await disable(second)).toBe("done");
    expect([await disable(first), await disabledAt(first)]).toEqual(["CONFLICT", null]);
  });

  test("can't be disabled while a concurrent change makes them the last owner", async () => {
    const { edit, first, second } = await addPair();
    const changeRole = (userId: UserId, role: "owner" | "viewer") => (trx: Trx) =>
      changeMemberRole(trx, edit, { userId, role, versions: undefined }, app.services.quotas);
    await inTransaction(changeRole(second.userId, "viewer"));
    const commit = await hold(async (trx) => {
      await changeRole(second.userId, "owner")(trx);
      await changeRole(first.userId, "viewer")(trx);
    });
    const outcome = disable(second);
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    await commit();
    expect([await outcome, await disabledAt(second)]).toEqual(["CONFLICT", null]);
  });
});

test("a member can't be added while the only owner is being disabled", async () => {
  const { edit, first, second } = await addPair();
  await inTransaction((trx) => removeMember(trx, edit, { userId: second.userId }));
  const commit = await hold((trx) => disableAccount((work) => work(trx), first.userId, command));
  const outcome = outcomeOf(
    inTransaction((trx) =>
      addMember(trx, edit, { userId: second.userId, role: "member" }, app.services.quotas),
    ),
  );
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  expect(await outcome).toBe("CONFLICT");
});

/** Runs `work` in a transaction that stays open until the returned function is called. */
async function hold(work: (trx: Trx) => Promise<unknown>): Promise<() => Promise<void>> {
  const { promise: workDone, resolve: finishWork } = Promise.withResolvers<void>();
  const { promise: commitSignal, resolve: commit } = Promise.withResolvers<void>();
  const transaction = app.services.db.transaction().execute(async (trx) => {
    await work(trx);
    finishWork();
    await commitSignal;
  });
  await Promise.race([workDone, transaction]);
  return async () => {
    commit();
    await transaction;
  };
}

/** Returns the error code of a failed attempt, or "done". */
async function outcomeOf(attempt: Promise<unknown>): Promise<string> {
  return await attempt.then(
    () => "done",
    (error: unknown) =>
      error instanceof TRPCClientError
        ? error.data.code
        : error instanceof AppError
          ? error.code
          : String(error),
  );
}

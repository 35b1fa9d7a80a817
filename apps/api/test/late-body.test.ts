import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import type { Trx } from "@latchkey/db/schema";
import { disableUser } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { TRPCClientError } from "@trpc/client";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { disableAccount } from "../src/domain/accounts.ts";
import { rotateKey, updateKey } from "../src/domain/api-keys.ts";
import { addMember, changeMemberRole, removeMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

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
    .execute((trx) => addMember(trx, edit, { userId: second.userId, role: "owner" }, defaultQuotas));
  return { workspace: `/open/workspaces/${encodeId("workspace", workspaceId)}`, edit, first, second };
}

/** A body, and the name of the request. */
interface Sent {
  readonly [member: string]: unknown;
  readonly idempotencyKey?: string;
}

/** Sends the headers, does this once the request was admitted, and sends the body; the status. */
async function sendLate(
  { secret, id }: Person,
  [method, path]: readonly [string, string],
  meanwhile: () => Promise<unknown>,
  { idempotencyKey, ...sent }: Sent = { name: "Too late" },
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
        changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }, app.instance.quotas),
      );
    if (how === "disabled") await inTransaction((trx) => disableUser(trx, userId));
    if (how === "key deleted") await app.deleteKey({ userId, id });
    if (how === "key disabled") await restrict(second, { isDisabled: true });
    if (how === "key kept to other addresses") await restrict(second, { ipRanges: ["203.0.113.0/24"] });
    if (how === "key rotated")
      await inTransaction((trx) => rotateKey(trx, { userId, id, origin: command }, 0));
    if (how === "key narrowed") await restrict(second, { isReadOnly: true });
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
  await inTransaction((trx) => updateKey(trx, edit, { settings, mayExpand: true }));
}

test("a key that was held to something before the body came changes no other key", async () => {
  const person: Person = await app.addKey();
  const other = await app.addKey(person.userId);
  const path = `/open/api-keys/${encodeId("key", other.id)}`;
  const status = await sendLate(person, ["PATCH", path], () =>
    restrict(person, { limit: { quota: 100, windowSeconds: 60 } }),
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

test("a secret that another key rotated under the same name before the body came gets no new one", async () => {
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

test("a key that was narrowed before the body came makes no workspace", async () => {
  const person: Person = await app.addKey();
  const status = await sendLate(person, ["POST", "/open/workspaces"], () =>
    restrict(person, { permissions: ["workspace:read"] }),
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
      changeMemberRole(trx, edit, { userId, role: "viewer", versions: undefined }, app.instance.quotas),
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
    "a caller who was %s before the body arrived changes nothing",
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
      // Once a later request with the same session has its answer, the server has read the headers of this one.
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

  test("a change that waits for its user while that one is disabled is rejected", async () => {
    const { userId, client } = await signedIn();
    const commit = await hold((trx) => disableUser(trx, userId));
    const outcome = outcomeOf(client.workspaces.create.mutate({ name: "Too late" }));
    await expect.poll(countBlockedConnections).toBe(1);
    await commit();
    expect([await outcome, await countTooLate()]).toEqual(["FORBIDDEN", 0]);
  });
});

describe("the last owner of a workspace that others are members of", () => {
  const disabledAt = async ({ userId }: Person): Promise<Date | null> =>
    (
      await app.owner
        .selectFrom("users")
        .select("disabled_at")
        .where("id", "=", userId)
        .executeTakeFirstOrThrow()
    ).disabled_at;
  const disable = async ({ userId }: Person): Promise<string> =>
    await outcomeOf(disableAccount(app.instance.db, { id: userId }));

  test("is not disabled, unless no other members are left", async () => {
    const { edit, first, second } = await addPair();
    await inTransaction((trx) =>
      changeMemberRole(
        trx,
        edit,
        { userId: second.userId, role: "admin", versions: undefined },
        app.instance.quotas,
      ),
    );
    expect([await disable(first), await disabledAt(first)]).toEqual(["CONFLICT", null]);
    await inTransaction((trx) => removeMember(trx, edit, { userId: second.userId }));
    expect([await disable(first), await disabledAt(first)]).toEqual(["done", expect.any(Date)]);
  });

  test("is not disabled beside an owner who can't sign in", async () => {
    const { first, second } = await addPair();
    expect(await disable(second)).toBe("done");
    expect([await disable(first), await disabledAt(first)]).toEqual(["CONFLICT", null]);
  });

  test("is not disabled when the workspace becomes theirs at the same moment", async () => {
    const { edit, first, second } = await addPair();
    const give = (userId: UserId, role: "owner" | "viewer") => (trx: Trx) =>
      changeMemberRole(trx, edit, { userId, role, versions: undefined }, app.instance.quotas);
    await inTransaction(give(second.userId, "viewer"));
    const commit = await hold(async (trx) => {
      await give(second.userId, "owner")(trx);
      await give(first.userId, "viewer")(trx);
    });
    const outcome = disable(second);
    await expect.poll(countBlockedConnections).toBe(1);
    await commit();
    expect([await outcome, await disabledAt(second)]).toEqual(["CONFLICT", null]);
  });
});

/** Does this in a transaction that stays open until the function returned is called. */
async function hold(work: (trx: Trx) => Promise<unknown>): Promise<() => Promise<void>> {
  const { promise: isDone, resolve: done } = Promise.withResolvers<void>();
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const transaction = app.instance.db.transaction().execute(async (trx) => {
    await work(trx);
    done();
    await mayEnd;
  });
  await Promise.race([isDone, transaction]);
  return async () => {
    end();
    await transaction;
  };
}

/** The code that it fails with, or "done". */
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

async function countBlockedConnections(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(app.owner);
  return rows[0]?.count ?? 0;
}

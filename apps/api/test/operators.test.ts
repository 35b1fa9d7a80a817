import type { Origin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import { appendInstanceEvent, listInstanceEvents } from "@latchkey/db/instance-events";
import { listOperatorIds } from "@latchkey/db/operators";
import { AppError } from "@latchkey/errors";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { disableAccount, enableAccount } from "../src/domain/accounts.ts";
import { grantOperator, revokeOperator } from "../src/domain/operators.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

// The operators of an instance, and the rule that one of them can always sign in.

let app: TestApp;
let ada: UserId;
let grace: UserId;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

beforeEach(async () => {
  await app.owner.deleteFrom("workspaces").execute();
  await app.owner.deleteFrom("users").execute();
  await app.owner.deleteFrom("instance_events").execute();
  ({ userId: ada } = await app.addUser());
  ({ userId: grace } = await app.addUser());
});

const change = (work: typeof grantOperator, id: UserId, origin: Origin = commandOrigin): Promise<void> =>
  app.instance.db.transaction().execute((trx) => work(trx, id, origin));

const bySession = (userId: UserId, isFresh = true): Origin => ({
  actor: { kind: "session", userId, isFresh, asOperator: true },
  address: "192.0.2.7",
  requestId: "r-1",
});

const onlyOperator = {
  code: "CONFLICT",
  message: "This user is the only operator who can sign in. Grant the operator role to another user first.",
};

test("the first account is the only operator, until it grants the role", async () => {
  expect(await listOperatorIds(app.owner)).toEqual([ada]);
  await change(grantOperator, grace);
  await change(grantOperator, grace);
  expect(await listOperatorIds(app.owner)).toEqual([ada, grace]);
  await change(revokeOperator, ada, bySession(ada));
  expect(await listOperatorIds(app.owner)).toEqual([grace]);
  const page = { direction: "asc", limit: 10, filter: { userId: ada } } as const;
  expect(await listInstanceEvents(app.owner, page)).toMatchObject([
    { action: "user.created", actorKind: "command" },
    {
      action: "operator.revoked",
      actorKind: "session",
      actor: { id: ada },
      address: "192.0.2.7",
      requestId: "r-1",
    },
  ]);
});

test("the only operator who can sign in keeps the role and can't be disabled", async () => {
  await expect(change(revokeOperator, ada)).rejects.toMatchObject(onlyOperator);
  await expect(app.disableUser(ada)).rejects.toMatchObject(onlyOperator);
  await change(grantOperator, grace);
  await app.disableUser(grace);
  // A disabled operator doesn't count.
  await expect(change(revokeOperator, ada)).rejects.toMatchObject(onlyOperator);
  await expect(app.disableUser(ada)).rejects.toMatchObject(onlyOperator);
  await change(enableAccount, grace);
  await app.disableUser(ada);
});

test("two operators who give up the role at the same time leave one", async () => {
  for (let round = 0; round < 10; round += 1) {
    await change(grantOperator, ada);
    await change(grantOperator, grace);
    const outcomes = await Promise.allSettled([
      change(revokeOperator, ada, bySession(ada)),
      round % 2 === 0
        ? change(revokeOperator, grace, bySession(grace))
        : disableAccount((work) => app.instance.db.transaction().execute(work), grace, commandOrigin),
    ]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await change(enableAccount, grace);
    expect(await listOperatorIds(app.owner)).not.toEqual([]);
  }
});

test("a disabled user can't become an operator; giving power needs a recent password, and every change the role", async () => {
  await app.disableUser(grace);
  await expect(change(grantOperator, grace)).rejects.toMatchObject({ code: "CONFLICT" });
  await change(enableAccount, grace);
  await expect(change(grantOperator, grace, bySession(ada, false))).rejects.toMatchObject({
    code: "FORBIDDEN",
    issues: [{ code: "reauthentication_required" }],
  });
  for (const work of [grantOperator, revokeOperator, enableAccount]) {
    const rejected = change(work, ada, bySession(grace));
    await expect(rejected).rejects.toBeInstanceOf(AppError);
    await expect(rejected).rejects.toMatchObject({ code: "FORBIDDEN" });
  }
  expect(await listOperatorIds(app.owner)).toEqual([ada]);
});

test("a change that is rolled back leaves no event", async () => {
  const rolledBack = app.instance.db.transaction().execute(async (trx) => {
    await appendInstanceEvent(trx, commandOrigin, { action: "user.deleted", userId: grace });
    throw new Error("rolled back");
  });
  await expect(rolledBack).rejects.toThrow("rolled back");
  const page = { direction: "asc", limit: 10, filter: { action: "user.deleted" } } as const;
  expect(await listInstanceEvents(app.owner, page)).toEqual([]);
});

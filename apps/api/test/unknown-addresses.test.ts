// A request that names an email address does the same work whether or not the address has an account.
import { SignInThrottle } from "@latchkey/auth/sign-in-throttle";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, decodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import type { KyselyPlugin } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addInvitationNotice } from "../src/domain/invitation-jobs.ts";
import { createInvitation } from "../src/domain/invitations.ts";
import { requestResetLink } from "../src/domain/password-reset.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ sendsEmail: true });
});
afterAll(() => app.close());

/** Lists the statements that some work sends to the database, without their parameters. */
async function listStatements(work: (db: Db) => Promise<unknown>): Promise<string[]> {
  const statements: string[] = [];
  const recorder: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      statements.push(app.services.db.getExecutor().compileQuery(node, queryId).sql);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await work(app.services.db.withPlugin(recorder));
  return statements;
}

async function addConfirmedUser() {
  const user = await app.addUser();
  await app.owner.updateTable("users").set({ email_verified: true }).where("id", "=", user.userId).execute();
  return user;
}

test.each([true, false])("an invitation, with links by email: %s", async (sendsEmail) => {
  const inviter = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email: inviter.email, password });
  const { id } = await client.workspaces.create.mutate({ name: "Team" });
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
  const actor = { kind: "session", userId: inviter.userId, isRecentlyAuthenticated: true } as const;
  const origin = { actor, address: "203.0.113.9", requestId: "test" };
  const invite = (email: string) =>
    listStatements((db) =>
      db
        .transaction()
        .execute((trx) =>
          createInvitation(
            trx,
            { scope, origin },
            { email, role: "member" },
            { quotas: defaultQuotas, baseUrl: app.baseUrl, sendsEmail },
          ),
        ),
    );
  const unknown = await invite(`nobody-${sendsEmail}@example.com`);
  expect(unknown.length).toBeGreaterThan(5);
  expect(await invite((await addConfirmedUser()).email)).toEqual(unknown);
  expect(await invite((await app.addUser()).email)).toEqual(unknown);
});

test("a request for a password reset link", async () => {
  const signInThrottle = (db: Db) =>
    new SignInThrottle({ db, secret: "a secret for this test, of 32 letters", maxSignUpsPerHour: 1 });
  const request = (email: string) =>
    listStatements((db) =>
      requestResetLink({ db, sendsEmail: true, signInThrottle: signInThrottle(db) }, email, {
        ...{ address: "203.0.113.9", requestId: "test", userAgent: null },
      }),
    );
  const unknown = await request("nobody@example.com");
  expect(unknown.some((statement) => statement.includes("add_job"))).toBe(true);
  expect(await request((await app.addUser()).email)).toEqual(unknown);
});

test("the job creates the notice of an invitation once, and none if the invitation was revoked", async () => {
  const [inviter, invitee, other] = [await app.addUser(), await addConfirmedUser(), await addConfirmedUser()];
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email: inviter.email, password });
  const { id: workspaceId } = await client.workspaces.create.mutate({ name: "Crew" });
  const job = async (email: string) => {
    const { id } = await client.invitations.create.mutate({ workspaceId, email, role: "member" });
    const invitationId = decodeId("invitation", id) ?? createId("invitation");
    return { id, payload: { workspaceId: decodeId("workspace", workspaceId) as WorkspaceId, invitationId } };
  };
  const listNotices = (...userIds: string[]) =>
    app.owner
      .selectFrom("notices")
      .select(["user_id", "kind", "subject", "facts"])
      .where("user_id", "in", userIds as (typeof invitee.userId)[])
      .execute();
  const { payload } = await job(invitee.email);
  const revoked = await job(other.email);
  expect(await listNotices(invitee.userId, other.userId)).toEqual([]);
  await client.invitations.revoke.mutate({ workspaceId, id: revoked.id });
  for (const invitation of [payload, payload, revoked.payload])
    await addInvitationNotice(app.services.db, invitation);
  expect(await listNotices(invitee.userId, other.userId)).toMatchObject([
    {
      ...{ user_id: invitee.userId, kind: "invitation", subject: payload.invitationId },
      facts: { workspaceName: "Crew", role: "member" },
    },
  ]);
});

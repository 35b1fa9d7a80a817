import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { UserId } from "./ids.ts";
import {
  countInvitations,
  type InvitationFilter,
  type InvitationStatus,
  insertInvitation,
  listInvitations,
} from "./invitations.ts";
import { deleteMember, insertMember } from "./members.ts";
import type { Position } from "./page.ts";
import type { Role } from "./role.ts";
import type { Trx } from "./schema.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { disableUser, insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addUser(trx: Trx): Promise<UserId> {
  const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
  return (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
}

/** Creates a workspace, and changes it. */
async function addWorkspace(
  change: (trx: WorkspaceTrx, scope: WorkspaceScope, ownerId: UserId) => Promise<void>,
): Promise<WorkspaceScope> {
  const { scope, ownerId } = await database.db.transaction().execute(async (trx) => {
    const ownerId = await addUser(trx);
    const made = await insertWorkspace(trx, { name: "Team", slug: randomUUID(), ownerId });
    return { scope: made?.scope as WorkspaceScope, ownerId }; // No workspace has this slug.
  });
  await inWorkspace(database.db, scope, (trx) => change(trx, scope, ownerId));
  return scope;
}

interface NewInvitation {
  readonly email: string;
  readonly invitedBy: UserId | null;
  readonly role?: Role;
  readonly lifetimeSeconds?: number;
}

async function invite(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { role = "member", lifetimeSeconds = 60, ...invitation }: NewInvitation,
): Promise<void> {
  await insertInvitation(trx, scope, { ...invitation, role, isEmailed: false, lifetimeSeconds });
}

/** Reads all pages of a filtered list, oldest first, and compares their length with the count. */
async function list(scope: WorkspaceScope, filter: InvitationFilter): Promise<string[]> {
  return await inWorkspace(database.db, scope, async (trx) => {
    const emails: string[] = [];
    let after: Position | undefined;
    const count = await countInvitations(trx, scope, filter);
    for (let pages = 0; pages <= count; pages += 1) {
      const page = { sort: "createdAt", direction: "asc", limit: 2, after, filter } as const;
      const rows = await listInvitations(trx, scope, page);
      emails.push(...rows.map(({ email }) => email));
      const last = rows.at(-1);
      if (!last) break;
      after = { value: last.position, id: last.id };
    }
    expect(emails).toHaveLength(count);
    return emails;
  });
}

test("finds invitations by a part of the email address, literally and in any letter case", async () => {
  const emails = ["grace@example.com", "ken@grace.example", "under_score@example.com", "linus@example.com"];
  const scope = await addWorkspace(async (trx, own, invitedBy) => {
    for (const email of emails) await invite(trx, own, { email, invitedBy });
  });
  await addWorkspace((trx, own, invitedBy) => invite(trx, own, { email: "grace@other.example", invitedBy }));
  expect(await list(scope, {})).toEqual(emails);
  expect(await list(scope, { search: "" })).toEqual(emails);
  expect(await list(scope, { search: "GRACE" })).toEqual(emails.slice(0, 2));
  expect(await list(scope, { search: "@example.com" })).toEqual([emails[0], emails[2], emails[3]]);
  expect(await list(scope, { search: "_" })).toEqual(["under_score@example.com"]);
  expect(await list(scope, { search: "%" })).toEqual([]);
});

test("filters by a status that depends on the inviter now, and on the roles that the caller names", async () => {
  let formerId: UserId | undefined;
  const scope = await addWorkspace(async (trx, own, ownerId) => {
    const addAdmin = async () => {
      const userId = await addUser(trx);
      await insertMember(trx, own, { userId, role: "admin" });
      return userId;
    };
    const [admin, disabled, former] = [await addAdmin(), await addAdmin(), await addAdmin()];
    const inviters = { command: null, owner: ownerId, admin, disabled, former };
    for (const [name, invitedBy] of Object.entries(inviters)) {
      await invite(trx, own, { email: `${name}.admin@example.com`, role: "admin", invitedBy });
      await invite(trx, own, { email: `${name}.viewer@example.com`, role: "viewer", invitedBy });
      await invite(trx, own, { email: `${name}.expired@example.com`, invitedBy, lifetimeSeconds: 0 });
    }
    await disableUser(trx, disabled);
    await deleteMember(trx, own, { userId: former });
    formerId = former;
  });
  const grants = [
    { inviter: "owner", invited: "viewer" },
    { inviter: "admin", invited: "admin" },
  ] as const;
  const ofStatus = async (status: InvitationStatus, filter: InvitationFilter = {}) =>
    (await list(scope, { ...filter, status: { status, grants } })).map((email) => email.split("@")[0]);

  expect(await ofStatus("pending")).toEqual([
    "command.admin",
    "command.viewer",
    "owner.viewer",
    "admin.admin",
  ]);
  expect(await ofStatus("expired")).toEqual([
    "command.expired",
    "owner.expired",
    "admin.expired",
    "disabled.expired",
    "former.expired",
  ]);
  expect(await ofStatus("invalid")).toEqual([
    "owner.admin",
    "admin.viewer",
    "disabled.admin",
    "disabled.viewer",
    "former.admin",
    "former.viewer",
  ]);
  expect(await ofStatus("invalid", { search: "viewer" })).toEqual([
    "admin.viewer",
    "disabled.viewer",
    "former.viewer",
  ]);
  expect(await ofStatus("invalid", { invitedBy: formerId })).toEqual(["former.admin", "former.viewer"]);
  const withoutGrants = { status: { status: "pending", grants: [] } } as const;
  expect(await list(scope, withoutGrants)).toEqual([
    "command.admin@example.com",
    "command.viewer@example.com",
  ]);
});

test("a list of pending invitations contains none that is shown as expired, even if it expires while the list is read", async () => {
  const scope = await addWorkspace(async () => {});
  // One expires every tenth of a millisecond, for 200 ms.
  await sql`
    insert into invitations (workspace_id, id, email, role, is_emailed, expires_at)
    select ${scope.workspaceId}, gen_random_uuid(), number || '@example.com', 'viewer', false,
      statement_timestamp() + interval '100 ms' + number * interval '0.1 ms'
    from generate_series(1, 2000) as number`.execute(database.owner);
  const status = { status: "pending", grants: [] } as const;
  const page = { sort: "email", direction: "asc", limit: 2_000, filter: { status } } as const;
  let pending = 2_000;
  for (let reads = 0; reads < 1_000 && pending > 0; reads += 1) {
    const rows = await inWorkspace(database.db, scope, (trx) => listInvitations(trx, scope, page));
    expect(rows.filter(({ isExpired }) => isExpired)).toEqual([]);
    pending = rows.length;
  }
  expect(pending).toBe(0);
});

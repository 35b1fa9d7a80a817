import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import { insertOwnershipTransfer } from "@latchkey/db/ownership-transfers";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { createKey } from "../../src/domain/api-key-edits.ts";
import type { Edit } from "../../src/domain/enter-for-edit.ts";
import { createInvitation } from "../../src/domain/invitations.ts";
import { addMember, removeMember } from "../../src/domain/members.ts";
import { defaultQuotas } from "../../src/domain/quotas.ts";
import { createServiceAccount } from "../../src/domain/service-accounts.ts";
import type { TestApp } from "../test-app.ts";
import {
  addIssuedKey,
  addKeyspace,
  addPerson,
  addVerifications,
  addWebhook,
  addWorkspace,
  commandOrigin,
  type FixtureIssuedKey,
  type FixtureKeyspace,
  type FixtureWorkspace,
  type Person,
  timeOfUse,
} from "./fixture-rows.ts";
import { saveRows } from "./rows.ts";
import type { Caller } from "./table.ts";

/** Two workspaces without a common member, in the state that each test case starts from. */
export interface TenantFixture {
  readonly tenant: FixtureWorkspace;
  readonly otherTenant: FixtureWorkspace;
  /** The stranger and the foreigner are members of `otherTenant`. All others are, or were, members of `tenant`. */
  readonly people: Readonly<Record<Exclude<Caller, "nobody"> | "target" | "coOwner" | "foreigner", Person>>;
  /** An operator of the instance, who is a member of no workspace. */
  readonly operator: Person;
  /** A key of the owner of `tenant`. Only the owner, and admins in the lists of the workspace, can see it. */
  readonly ownersKey: {
    readonly id: string;
    readonly name: string;
    readonly keyId: KeyId;
    readonly secret: string;
  };
  /** Service accounts of the workspaces, with their names as `email`. */
  readonly serviceAccounts: Readonly<Record<"tenant" | "otherTenant", Person>>;
  /** A key of our service account. Only owners and admins see it. */
  readonly serviceKey: { readonly id: string; readonly name: string; readonly keyId: KeyId };
  /** Invitations to the workspaces. Only admins and owners see them, and the member of `tenant` the one that they sent. */
  readonly invitations: Readonly<
    Record<"tenant" | "otherTenant" | "byMember", { readonly id: string; readonly email: string }>
  >;
  /** A webhook of each workspace, with one delivery. Only admins and owners see them. */
  readonly webhooks: Readonly<
    Record<
      "tenant" | "otherTenant",
      { readonly id: string; readonly deliveryId: string; readonly url: string }
    >
  >;
  /** A keyspace of each workspace. Every member sees those of their workspace. */
  readonly keyspaces: Readonly<Record<"tenant" | "otherTenant", FixtureKeyspace>>;
  /** An issued key in the keyspace of each workspace. Every member sees those of their workspace. */
  readonly issuedKeys: Readonly<Record<"tenant" | "otherTenant", FixtureIssuedKey>>;
  /** The IDs, names and email addresses of each tenant, which no member of the other tenant can see. */
  readonly identifiers: { readonly tenant: readonly string[]; readonly otherTenant: readonly string[] };
}

/** The fixture of each app, and how to restore its rows. */
const fixtures = new WeakMap<
  TestApp,
  { readonly fixture: TenantFixture; readonly restore: () => Promise<void> }
>();

/** Restores the rows of the app's fixture, so that no test affects another. Creating one takes twenty times as long. */
export async function prepareFixture(app: TestApp): Promise<TenantFixture> {
  const known = fixtures.get(app);
  if (known) {
    await known.restore();
    return known.fixture;
  }
  const fixture = await createFixture(app);
  fixtures.set(app, { fixture, restore: await saveRows(app.owner) });
  return fixture;
}

/** Creates a fixture instead of all rows that exist. */
export async function createFixture({ services: { db }, owner }: TestApp): Promise<TenantFixture> {
  // Most rows belong to a workspace or a user, and are deleted with it.
  const others = ["former_users", "verifications", "instance_events", "issued_keys", "consumers"] as const;
  for (const table of ["keyspaces", "workspaces", "users", ...others] as const)
    await owner.deleteFrom(table).execute();
  const suffix = crypto.randomUUID().slice(0, 8);
  return await db
    .transaction()
    .execute(async (trx) => {
      const add = (name: string): Promise<Person> => addPerson(trx, `${name}-${suffix}@example.com`);
      const operator = await add("operator"); // The first account is an operator, and none of the callers is.
      const people = {
        stranger: await add("stranger"),
        foreigner: await add("foreigner"),
        removed: await add("removed"),
        viewer: await add("viewer"),
        member: await add("member"),
        admin: await add("admin"),
        owner: await add("owner"),
        target: await add("target"),
        coOwner: await add("co-owner"),
      };
      const tenant = await addWorkspace(trx, `Ours ${suffix}`, people.owner);
      const tenantEdit = { scope: openAsOperator(tenant.workspaceId), origin: commandOrigin };
      for (const role of ["admin", "member", "viewer"] as const)
        await addMember(trx, tenantEdit, { userId: people[role].userId, role }, defaultQuotas);
      await addMember(trx, tenantEdit, { userId: people.target.userId, role: "viewer" }, defaultQuotas);
      await addMember(trx, tenantEdit, { userId: people.coOwner.userId, role: "owner" }, defaultQuotas);
      // A former owner.
      await addMember(trx, tenantEdit, { userId: people.removed.userId, role: "owner" }, defaultQuotas);
      await removeMember(trx, tenantEdit, people.removed);
      const otherTenant = await addWorkspace(trx, `Theirs ${suffix}`, people.stranger);
      const otherTenantEdit = { scope: openAsOperator(otherTenant.workspaceId), origin: commandOrigin };
      await addMember(
        trx,
        otherTenantEdit,
        { userId: people.foreigner.userId, role: "viewer" },
        defaultQuotas,
      );
      const invite = async (edit: Edit, email: string) => {
        const options = { quotas: defaultQuotas, baseUrl: "", sendsEmail: false };
        const { invitation } = await createInvitation(trx, edit, { email, role: "member" }, options);
        return { id: encodeId("invitation", invitation.id), email };
      };
      const invitations = {
        tenant: await invite(tenantEdit, `invitee-${suffix}@example.com`),
        otherTenant: await invite(otherTenantEdit, `their-invitee-${suffix}@example.com`),
        byMember: await invite(
          { ...tenantEdit, origin: { ...commandOrigin, actor: sessionActor(people.member) } },
          `invitee-of-member-${suffix}@example.com`,
        ),
      };
      const webhooks = {
        tenant: await addWebhook(trx, tenantEdit, `https://tenant-${suffix}.example.com/`),
        otherTenant: await addWebhook(trx, otherTenantEdit, `https://other-tenant-${suffix}.example.com/`),
      };
      const keyspaces = {
        tenant: await addKeyspace(trx, tenantEdit, `Production ${suffix}`),
        otherTenant: await addKeyspace(trx, otherTenantEdit, `Their production ${suffix}`),
      };
      const issuedKeys = {
        tenant: await addIssuedKey(trx, tenantEdit, keyspaces.tenant, `Acme ${suffix}`),
        otherTenant: await addIssuedKey(trx, otherTenantEdit, keyspaces.otherTenant, `Globex ${suffix}`),
      };
      const addServiceAccount = async (edit: Edit, name: string): Promise<Person> => {
        const account = { name, role: "member" } as const;
        const { userId } = await createServiceAccount(trx, edit, account, defaultQuotas);
        return { userId, id: encodeId("user", userId), email: name };
      };
      const serviceAccounts = {
        tenant: await addServiceAccount(tenantEdit, `Deploys ${suffix}`),
        otherTenant: await addServiceAccount(otherTenantEdit, `Their deploys ${suffix}`),
      };
      const resources = { invitations, webhooks, keyspaces, issuedKeys, serviceAccounts };
      const fixture = { tenant, otherTenant, people, operator, ...resources };
      return { ...fixture, identifiers: listIdentifiers(fixture) };
    })
    .then(async (fixture) => {
      const addKey = async (userId: UserId, name: string) => {
        const key = { userId, name, description: "", origin: commandOrigin };
        const { id: keyId, secret } = await db
          .transaction()
          .execute((trx) => createKey(trx, key, defaultQuotas));
        return { id: encodeId("key", keyId), name, keyId, secret };
      };
      const ownersKey = await addKey(fixture.people.owner.userId, `Owner’s ${suffix}`);
      await owner
        .insertInto("key_usage_hours")
        .values({
          key_id: ownersKey.keyId,
          hour: timeOfUse,
          workspace_id: fixture.tenant.workspaceId,
          outcome: "admitted",
          count: 7,
        })
        .execute();
      const { tenant, otherTenant } = fixture.issuedKeys;
      await addVerifications(owner, [tenant.issuedKeyId, otherTenant.issuedKeyId]);
      return {
        ...fixture,
        ownersKey,
        serviceKey: await addKey(fixture.serviceAccounts.tenant.userId, `Deploy key ${suffix}`),
      };
    });
}

function sessionActor({ userId }: Person) {
  return { kind: "session", userId, isRecentlyAuthenticated: true } as const;
}

/** Adds a pending offer of the co-owner of `tenant` to the member. */
export async function addOwnershipTransfer(
  { services: { db } }: TestApp,
  { tenant, people: { coOwner, member } }: TenantFixture,
): Promise<void> {
  const scope = openAsOperator(tenant.workspaceId);
  const transfer = { from: coOwner.userId, to: member.userId, lifetimeSeconds: 60 };
  await inWorkspace(db, scope, (trx) => insertOwnershipTransfer(trx, scope, transfer));
}

/** Adds an unread notice, whose message contains the person's email address. @returns its ID in API responses. */
export async function addNotice({ owner }: TestApp, { userId, email }: Person): Promise<string> {
  const id = createId("notice");
  const keyId = createId("key");
  const facts = JSON.stringify({ keyId, keyName: email, expiresAt: "2026-09-30T10:00:00Z" });
  await owner
    .insertInto("notices")
    .values({
      id,
      user_id: userId,
      kind: "key-expires-in-1-day", // A key can mark it as read.
      subject: "key",
      facts,
      is_shown: true,
      is_email_due: false,
    })
    .execute();
  return encodeId("notice", id);
}

function listIdentifiers({
  tenant,
  otherTenant,
  people,
  invitations,
  webhooks,
  keyspaces,
  issuedKeys,
  serviceAccounts,
}: Pick<
  TenantFixture,
  | "tenant"
  | "otherTenant"
  | "people"
  | "invitations"
  | "webhooks"
  | "keyspaces"
  | "issuedKeys"
  | "serviceAccounts"
>): TenantFixture["identifiers"] {
  const { stranger, foreigner, removed: _removed, ...members } = people;
  const list = (workspace: FixtureWorkspace, persons: readonly Person[]): readonly string[] => [
    workspace.id,
    workspace.name,
    ...persons.flatMap(({ id, email }) => [id, email]),
  ];
  const listInvitation = ({ id, email }: { readonly id: string; readonly email: string }) => [id, email];
  return {
    tenant: [
      ...list(tenant, [...Object.values(members), serviceAccounts.tenant]),
      ...listInvitation(invitations.tenant),
      ...listInvitation(invitations.byMember),
      ...Object.values(webhooks.tenant),
      ...Object.values(keyspaces.tenant),
      ...Object.values(issuedKeys.tenant),
    ],
    otherTenant: [
      ...list(otherTenant, [stranger, foreigner, serviceAccounts.otherTenant]),
      ...listInvitation(invitations.otherTenant),
      ...Object.values(webhooks.otherTenant),
      ...Object.values(keyspaces.otherTenant),
      ...Object.values(issuedKeys.otherTenant),
    ],
  };
}

/**
 * Lists what no response to this caller may contain.
 * @param showsKeys whether the response shows admins the keys that can reach their workspace.
 */
export function listHiddenText(
  caller: Caller,
  { identifiers, ownersKey, serviceKey }: TenantFixture,
  { showsKeys = false }: { readonly showsKeys?: boolean | undefined } = {},
): readonly string[] {
  const seesKey = caller === "owner" || (caller === "admin" && showsKeys);
  const hiddenKey = seesKey ? [] : [ownersKey.name, ownersKey.id, serviceKey.name, serviceKey.id];
  switch (caller) {
    case "nobody":
      return [...identifiers.tenant, ...identifiers.otherTenant, ...hiddenKey];
    case "stranger":
    case "removed":
      return [...identifiers.tenant, ...hiddenKey, ...(caller === "removed" ? identifiers.otherTenant : [])];
    default:
      return [...identifiers.otherTenant, ...hiddenKey];
  }
}

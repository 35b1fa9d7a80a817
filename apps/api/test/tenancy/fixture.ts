import { createIssuedKey as createSecret } from "@latchkey/auth/key-format";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import { findOrCreateConsumer } from "@latchkey/db/consumers";
import {
  createId,
  encodeId,
  type IssuedKeyId,
  type KeyId,
  type KeyspaceId,
  type UserId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import { insertIssuedKey } from "@latchkey/db/issued-key-changes";
import { insertKeyspace } from "@latchkey/db/keyspaces";
import { insertOwnershipTransfer } from "@latchkey/db/ownership-transfers";
import type { Db, Trx } from "@latchkey/db/schema";
import { insertUserWithPassword } from "@latchkey/db/users";
import { addDelivery } from "@latchkey/db/webhook-deliveries";
import { insertWebhook } from "@latchkey/db/webhooks";
import { enterWorkspace, inWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import { createKey } from "../../src/domain/api-key-edits.ts";
import type { Edit } from "../../src/domain/enter-for-edit.ts";
import { createInvitation } from "../../src/domain/invitations.ts";
import { addMember, removeMember } from "../../src/domain/members.ts";
import { defaultQuotas } from "../../src/domain/quotas.ts";
import { createServiceAccount } from "../../src/domain/service-accounts.ts";
import { createWorkspace } from "../../src/domain/workspaces.ts";
import { password, type TestApp } from "../test-app.ts";
import { saveRows } from "./rows.ts";
import type { Caller } from "./table.ts";

export interface Person {
  readonly userId: UserId;
  /** The ID in API responses. */
  readonly id: string;
  readonly email: string;
}

export interface FixtureWorkspace {
  readonly workspaceId: WorkspaceId;
  /** The ID in API responses. */
  readonly id: string;
  readonly name: string;
}

interface FixtureKeyspace {
  readonly keyspaceId: KeyspaceId;
  /** The ID in API responses. */
  readonly id: string;
  readonly name: string;
}

interface FixtureIssuedKey {
  readonly issuedKeyId: IssuedKeyId;
  /** The ID in API responses. */
  readonly id: string;
  readonly name: string;
  readonly externalId: string;
  readonly secret: string;
}

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

const commandOrigin: Origin = { actor: { kind: "command" }, address: null, requestId: null };
/** The {@link password}, hashed with minimal argon2id parameters, because tests sign in hundreds of times. */
const passwordHash =
  "$argon2id$v=19$m=8,t=1,p=1$IxXWeiHhgFB5CpiJfNbcXw$cijKxEx2LpNc4flo/31JT5G9Fu6a1JAAD8BWCA5nNGs";

/** The hour in which the key of the owner of `tenant` was used seven times in that workspace: the hour before this one. */
export const timeOfUse = new Date((Math.floor(Date.now() / 3_600_000) - 1) * 3_600_000);

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
      const add = (name: string): Promise<Person> =>
        addPerson(trx, `${name}-${suffix}@example.com`, passwordHash);
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

function sessionActor({ userId }: Person): Origin["actor"] {
  return { kind: "session", userId, isRecentlyAuthenticated: true };
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

async function addPerson(trx: Trx, email: string, hash: string): Promise<Person> {
  const userId = await insertUserWithPassword(trx, { email, name: email, passwordHash: hash });
  if (!userId) throw new Error(`${email} is taken.`);
  return { userId, id: encodeId("user", userId), email };
}

/** The webhook gets no event of the tests, so that no call adds a delivery. */
async function addWebhook(trx: Trx, { scope }: Edit, url: string) {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const id = createId("webhook");
  const actions = ["workspace.created"] as const;
  const secret = Buffer.from("sealed");
  await insertWebhook(workspaceTrx, scope, { id, url, description: "", actions, secret });
  const delivery = { webhookId: id, eventId: null, action: "webhook.test" } as const;
  const deliveryId = await addDelivery(workspaceTrx, scope, delivery);
  return { id: encodeId("webhook", id), deliveryId: encodeId("delivery", deliveryId), url };
}

async function addKeyspace(trx: Trx, { scope }: Edit, name: string): Promise<FixtureKeyspace> {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const keyspaceId = createId("keyspace");
  await insertKeyspace(workspaceTrx, scope, {
    id: keyspaceId,
    name,
    prefix: "sk_live",
    environment: "",
    defaultLifetimeDays: null,
    defaultPermissions: [],
    defaultLimits: [],
    defaultCredits: null,
  });
  return { keyspaceId, id: encodeId("keyspace", keyspaceId), name };
}

/** Adds a key with a consumer, without an audit event. */
async function addIssuedKey(
  trx: Trx,
  { scope }: Edit,
  { keyspaceId }: FixtureKeyspace,
  name: string,
): Promise<FixtureIssuedKey> {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const externalId = `Consumer of ${name}`;
  const consumerId = await findOrCreateConsumer(workspaceTrx, scope, { keyspaceId, externalId });
  const { secret, start, hash } = createSecret("sk_live");
  const settings = {
    name,
    meta: {},
    permissions: [],
    limits: [],
    refill: null,
    expiresAt: null,
    isDisabled: false,
    ipRanges: null,
  };
  const key = { keyspaceId, consumerId, start, hash, settings, remainingCredits: null };
  const issuedKeyId = await insertIssuedKey(workspaceTrx, scope, key);
  return { issuedKeyId, id: encodeId("issuedKey", issuedKeyId), name, externalId, secret };
}

/** Adds nine uses of each of these issued keys at the time of use, and a rejected verification. */
async function addVerifications(owner: Db, keyIds: readonly IssuedKeyId[]): Promise<void> {
  const key = sql`issued_keys where id = any(${keyIds}::uuid[])`;
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, unnest(array[keyspace_id, id, consumer_id]), ${timeOfUse}, 'VALID', 9 from ${key}`.execute(
    owner,
  );
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, workspace_id, ${timeOfUse}, 'VALID', 9 * count(*) from ${key} group by 1`.execute(
    owner,
  );
  await sql`
    insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select workspace_id, keyspace_id, unnest(array[id, consumer_id]), unnest(array[false, true]),
      (${timeOfUse}::timestamptz at time zone 'UTC')::date, 9, 9, 3
    from ${key}`.execute(owner);
  await sql`
    insert into issued_key_rejections (workspace_id, key_id, id, occurred_at, code, request_id)
    select workspace_id, id, gen_random_uuid(), ${timeOfUse}, 'EXPIRED', 'one' from ${key}`.execute(owner);
}

async function addWorkspace(trx: Trx, name: string, owner: Person): Promise<FixtureWorkspace> {
  const { id } = await createWorkspace(
    trx,
    { name, ownerId: owner.userId, origin: commandOrigin },
    defaultQuotas,
  );
  return { workspaceId: id, id: encodeId("workspace", id), name };
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

import { createIssuedKey as createSecret } from "@latchkey/auth/key-format";
import type { Origin } from "@latchkey/db/audit-actions";
import { findOrCreateConsumer } from "@latchkey/db/consumers";
import {
  createId,
  encodeId,
  type IssuedKeyId,
  type KeyspaceId,
  type UserId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import { insertIssuedKey } from "@latchkey/db/issued-key-changes";
import { insertKeyspace } from "@latchkey/db/keyspaces";
import type { Db, Trx } from "@latchkey/db/schema";
import { insertUserWithPassword } from "@latchkey/db/users";
import { addDelivery } from "@latchkey/db/webhook-deliveries";
import { insertWebhook } from "@latchkey/db/webhooks";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import type { Edit } from "../../src/domain/enter-for-edit.ts";
import { defaultQuotas } from "../../src/domain/quotas.ts";
import { createWorkspace } from "../../src/domain/workspaces.ts";

// The rows of a fixture.

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

export interface FixtureKeyspace {
  readonly keyspaceId: KeyspaceId;
  /** The ID in API responses. */
  readonly id: string;
  readonly name: string;
}

export interface FixtureIssuedKey {
  readonly issuedKeyId: IssuedKeyId;
  /** The ID in API responses. */
  readonly id: string;
  readonly name: string;
  readonly externalId: string;
  readonly secret: string;
}

/** The origin of the changes that prepare a fixture. */
export const commandOrigin: Origin = { actor: { kind: "command" }, address: null, requestId: null };
/** The `password` of `test-app.ts`, hashed with minimal argon2id parameters, because tests sign in hundreds of times. */
const passwordHash =
  "$argon2id$v=19$m=8,t=1,p=1$IxXWeiHhgFB5CpiJfNbcXw$cijKxEx2LpNc4flo/31JT5G9Fu6a1JAAD8BWCA5nNGs";

/** The hour in which the key of the owner of `tenant` was used seven times in that workspace: the hour before this one. */
export const timeOfUse = new Date((Math.floor(Date.now() / 3_600_000) - 1) * 3_600_000);

export async function addPerson(trx: Trx, email: string): Promise<Person> {
  const userId = await insertUserWithPassword(trx, { email, name: email, passwordHash });
  if (!userId) throw new Error(`${email} is taken.`);
  return { userId, id: encodeId("user", userId), email };
}

/** The webhook gets no event of the tests, so that no call adds a delivery. */
export async function addWebhook(trx: Trx, { scope }: Edit, url: string) {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const id = createId("webhook");
  const actions = ["workspace.created"] as const;
  const secret = Buffer.from("sealed");
  await insertWebhook(workspaceTrx, scope, { id, url, description: "", actions, secret });
  const delivery = { webhookId: id, eventId: null, action: "webhook.test" } as const;
  const deliveryId = await addDelivery(workspaceTrx, scope, delivery);
  return { id: encodeId("webhook", id), deliveryId: encodeId("delivery", deliveryId), url };
}

export async function addKeyspace(trx: Trx, { scope }: Edit, name: string): Promise<FixtureKeyspace> {
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

/** Adds a key with a consumer and a valid old secret, without an audit event. */
export async function addIssuedKey(
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
  await sql`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    values (${createSecret("sk_live").hash}, ${scope.workspaceId}, ${keyspaceId}, ${issuedKeyId}, 'sk_live_',
      now() + interval '30 days')`.execute(workspaceTrx);
  return { issuedKeyId, id: encodeId("issuedKey", issuedKeyId), name, externalId, secret };
}

/** Adds nine uses of each of these issued keys at the time of use, and a rejected verification. */
export async function addVerifications(owner: Db, keyIds: readonly IssuedKeyId[]): Promise<void> {
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

export async function addWorkspace(trx: Trx, name: string, owner: Person): Promise<FixtureWorkspace> {
  const { id } = await createWorkspace(
    trx,
    { name, ownerId: owner.userId, origin: commandOrigin },
    defaultQuotas,
  );
  return { workspaceId: id, id: encodeId("workspace", id), name };
}

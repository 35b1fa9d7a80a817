import { createHash } from "node:crypto";
import { decodeId } from "@latchkey/db/ids";
import type { Client } from "pg";
import type { Page } from "playwright-core";
import { proceduresOf } from "../e2e/call.ts";

const day = 86_400_000;

export interface KeyspaceContent {
  readonly keyspaceId: string;
  /** A keyspace without keys. */
  readonly emptyKeyspaceId: string;
  /** A keyspace with a key that has never been verified. */
  readonly unusedKeyspaceId: string;
  readonly disabledKeyspaceId: string;
  /** The key with the most settings. */
  readonly issuedKeyId: string;
  readonly disabledIssuedKeyId: string;
  readonly secret: string;
}

/** Adds keyspaces and keys in every state. */
export async function addKeyspaces(
  page: Page,
  workspaceId: string,
  database: Client,
): Promise<KeyspaceContent> {
  const { keyspaces, issuedKeys, issuedKeyCredits } = proceduresOf(page);
  const create = async (fields: object) =>
    (await keyspaces.create.mutate({ workspaceId, fields: fields as { name: string; prefix: string } })).id;
  const keyspaceId = await create({
    name: "Production",
    prefix: "sk_live",
    environment: "production",
    defaultLifetimeDays: 365,
    defaultPermissions: ["documents.read"],
    defaultLimits: [{ name: "requests", quota: 100, windowSeconds: 60 }],
  });
  const path = { workspaceId, keyspaceId };
  const issue = async (fields: object) => await issuedKeys.create.mutate({ ...path, fields });
  const verify = async (key: string, fields: object = {}) =>
    await issuedKeys.verify.mutate({ ...path, key, ...fields });
  const soon = new Date(Date.now() + 3 * day).toISOString();
  const globex = await issue({
    name: "Globex",
    externalId: "customer_7",
    permissions: ["documents.*", "reports.*"],
  });
  const initech = await issue({ name: "Initech", externalId: "customer_12", isDisabled: true });
  await issue({ name: "Trial of Umbrella", externalId: "customer_31", expiresAt: soon });
  const hooli = await issue({ name: "Hooli", externalId: "customer_40", credits: { remaining: 0 } });
  await issue({ permissions: [] });
  await issue({
    name: "Integration of the European warehouse and its suppliers",
    externalId: "organizations/european-warehouse/environments/production/clients/7f3c2a91",
    limits: [{ name: "requests", quota: 1_000_000, windowSeconds: 86_400 }],
  });
  const { id: issuedKeyId, key } = await issue({
    name: "Acme",
    externalId: "customer_42",
    permissions: ["documents.*", "reports.read"],
    ipRanges: ["203.0.113.0/24", "2001:db8::/32"],
    limits: [
      { name: "requests", quota: 4, windowSeconds: 3_600 },
      { name: "exports", quota: 5, windowSeconds: 3_600, appliesAlways: false },
    ],
    credits: { remaining: 10_000, refill: { amount: 10_000, interval: "monthly", day: 1 } },
    meta: { plan: "enterprise", seats: 40 },
  });
  await issue({ name: "Acme staging", externalId: "customer_42" });
  const clientIp = "203.0.113.7";
  for (let count = 0; count < 5; count += 1) await verify(key, { clientIp, cost: 1 });
  await verify(key, { clientIp, permissions: "admin" });
  await verify(key, { clientIp: "198.51.100.1" });
  await verify(key);
  for (const other of [globex, initech, hooli]) await verify(other.key, { cost: 2 });
  const credits = { ...path, id: issuedKeyId };
  await issuedKeyCredits.change.mutate({ ...credits, change: { add: 2_500 } });
  await issuedKeyCredits.change.mutate({ ...credits, change: { subtract: 40 } });
  const { version } = await issuedKeys.get.query(credits);
  const changes = { permissions: ["documents.*", "reports.*"], ipRanges: ["203.0.113.0/24"] };
  await issuedKeys.update.mutate({ ...credits, version, changes });
  const { key: secret } = await issuedKeys.rotate.mutate({ ...credits, overlapSeconds: day / 1_000 });
  const disabledKeyspaceId = await create({ name: "Test", prefix: "sk_test", environment: "test" });
  await keyspaces.update.mutate({
    ...{ workspaceId, keyspaceId: disabledKeyspaceId },
    ...{ version: 1, changes: { isDisabled: true } },
  });
  const emptyKeyspaceId = await create({ name: "Partner API", prefix: "partner" });
  const unusedKeyspaceId = await create({ name: "Preview", prefix: "sk_preview" });
  await issuedKeys.create.mutate({ workspaceId, keyspaceId: unusedKeyspaceId, fields: { name: "First" } });
  for (const [kind, subject] of [
    ["keyspace", keyspaceId],
    ["issuedKey", issuedKeyId],
  ] as const) {
    await database.query(
      `insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
      select $1::uuid, $2::uuid, date_trunc('hour', now()) - hours * interval '1 hour', outcome, count
      from generate_series(1, 23) hours
      cross join lateral (values
        ('VALID', 30 + hours * 37 % 53 + case when hours % 24 between 8 and 16 then 20 else 0 end),
        ('RATE_LIMITED', case hours when 7 then 18 when 15 then 9 else 0 end),
        ('INSUFFICIENT_PERMISSIONS', case hours % 6 when 2 then 5 else 0 end)) outcomes (outcome, count)
      where count > 0`,
      [decodeId("workspace", workspaceId), decodeId(kind, subject)],
    );
  }
  return {
    ...{ keyspaceId, emptyKeyspaceId, unusedKeyspaceId, disabledKeyspaceId },
    ...{ issuedKeyId, disabledIssuedKeyId: initech.id, secret },
  };
}

/** The hash of a key for a file of keys of another system. */
export function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

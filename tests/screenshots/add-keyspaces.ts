import type { Page } from "playwright-core";
import { proceduresOf } from "../e2e/call.ts";

const day = 86_400_000;

/** Adds keyspaces and keys in every state. Returns the keyspace, and the key with the most settings. */
export async function addKeyspaces(
  page: Page,
  workspaceId: string,
): Promise<{ readonly keyspaceId: string; readonly issuedKeyId: string }> {
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const { id: keyspaceId } = await keyspaces.create.mutate({
    workspaceId,
    fields: {
      name: "Production",
      prefix: "sk_live",
      environment: "production",
      defaultLifetimeDays: 365,
      defaultPermissions: ["documents.read"],
      defaultLimits: [{ name: "requests", quota: 100, windowSeconds: 60 }],
    },
  });
  const path = { workspaceId, keyspaceId };
  const issue = async (fields: object) => await issuedKeys.create.mutate({ ...path, fields });
  const soon = new Date(Date.now() + 3 * day).toISOString();
  await issue({ name: "Globex", externalId: "customer_7", permissions: ["documents.*", "reports.*"] });
  await issue({ name: "Initech", externalId: "customer_12", isDisabled: true });
  await issue({ name: "Trial of Umbrella", externalId: "customer_31", expiresAt: soon });
  await issue({ name: "Hooli", externalId: "customer_40", credits: { remaining: 0 } });
  await issue({ permissions: [] });
  const { id: issuedKeyId, key } = await issue({
    name: "Acme",
    externalId: "customer_42",
    permissions: ["documents.*", "reports.read"],
    ipRanges: ["203.0.113.0/24", "2001:db8::/32"],
    limits: [
      { name: "requests", quota: 100, windowSeconds: 60 },
      { name: "exports", quota: 5, windowSeconds: 3_600, appliesAlways: false },
    ],
    credits: { remaining: 10_000, refill: { amount: 10_000, interval: "monthly", day: 1 } },
    meta: { plan: "enterprise", seats: 40 },
  });
  const verification = { ...path, key, clientIp: "203.0.113.7", cost: 25 };
  for (let count = 0; count < 2; count += 1) await issuedKeys.verify.mutate(verification);
  await issuedKeys.rotate.mutate({ ...path, id: issuedKeyId, overlapSeconds: 86_400 });
  const test = { name: "Test", prefix: "sk_test", environment: "test" };
  const { id: testId } = await keyspaces.create.mutate({ workspaceId, fields: test });
  await keyspaces.update.mutate({
    workspaceId,
    keyspaceId: testId,
    version: 1,
    changes: { isDisabled: true },
  });
  return { keyspaceId, issuedKeyId };
}

import { createIssuedKey } from "@latchkey/auth/key-format";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { insertPastRows, type PastRow, toHex } from "@latchkey/db/past-rows";
import type { Trx } from "@latchkey/db/schema";
import type { Random } from "./random.ts";
import type { DemoIssuedKey } from "./verifications.ts";

const prefix = "sk_live";
const consumerCount = 40;
const dayMs = 86_400_000;

/**
 * Adds a keyspace with consumers, each with one to three keys. Some keys are rotated, disabled or out of credits.
 * @returns the keys.
 */
export async function insertIssuedKeys(
  trx: Trx,
  random: Random,
  { workspaceId, from, now }: { workspaceId: WorkspaceId; from: Date; now: Date },
): Promise<readonly DemoIssuedKey[]> {
  const keyspaceId = createId("keyspace");
  const of = { workspace_id: workspaceId, keyspace_id: keyspaceId };
  const limits = [{ name: "requests", quota: 600, windowSeconds: 60, appliesAlways: true }];
  await insertPastRows(trx, "keyspaces", [
    {
      workspace_id: workspaceId,
      id: keyspaceId,
      name: "Public API",
      prefix,
      environment: "production",
      created_at: from,
    },
  ]);
  const consumers = Array.from({ length: consumerCount }, (_, index) => {
    return {
      ...of,
      id: createId("consumer"),
      external_id: `customer_${index + 1}`,
      limits: [],
      created_at: from,
    };
  });
  const counters: PastRow<"key_counters">[] = consumers.map(({ id }) => ({ key_id: id as never })); // A counter of a consumer.
  const keys: PastRow<"issued_keys">[] = [];
  const retired: PastRow<"retired_issued_secrets">[] = [];
  const issued: DemoIssuedKey[] = [];
  for (const consumer of consumers) {
    for (let count = random.integer(1, 3); count > 0; count -= 1) {
      const id = createId("issuedKey");
      const createdAt = random.time(from, now);
      issued.push({ workspaceId, keyspaceId, keyId: id, consumerId: consumer.id, createdAt });
      const { start, hash } = createIssuedKey(prefix);
      keys.push({
        ...of,
        id,
        consumer_id: consumer.id,
        hash: toHex(hash),
        start,
        name: random.pick(["Production", "Staging", "Mobile app", "Partner"]),
        meta: { plan: random.pick(["free", "pro", "enterprise"]) },
        permissions: [random.pick(["documents.read", "documents.*", "exports.create"])],
        limits,
        created_at: createdAt,
        disabled_at: random.next() < 0.05 ? now : null,
      });
      const lastUsedAt = random.time(createdAt, now);
      counters.push({
        key_id: id as never, // A counter of an issued key.
        use_count: random.integer(1, 50_000),
        last_used_at: lastUsedAt,
        credits: random.next() < 0.3 ? random.integer(0, 3) * 1_000 : null,
        credits_refilled_at: from,
      });
      if (random.next() < 0.1) {
        const old = createIssuedKey(prefix);
        retired.push({
          hash: toHex(old.hash),
          ...of,
          key_id: id,
          start: old.start,
          retired_at: lastUsedAt,
          good_until: new Date(lastUsedAt.getTime() + 7 * dayMs),
        });
      }
    }
  }
  await insertPastRows(trx, "consumers", consumers);
  await insertPastRows(trx, "issued_keys", keys);
  await insertPastRows(trx, "retired_issued_secrets", retired);
  await insertPastRows(trx, "key_counters", counters.slice(0, consumerCount));
  await insertPastRows(trx, "key_counters", counters.slice(consumerCount));
  return issued;
}

import { type RawBuilder, sql } from "kysely";
import { createAuditPurge } from "./audit-retention.ts";
import {
  idempotencyLifetimeHours,
  verificationLifetimeHours,
  verificationPaths,
} from "./idempotency-records.ts";
import { deviceLifetimeDays } from "./known-devices.ts";
import { noticeLifetimeDays } from "./notices.ts";
import { createConsumerPurge } from "./purge-consumers.ts";
import { createKeyspacePurge } from "./purge-keyspaces.ts";
import type { DeleteBatch } from "./purge-round.ts";
import { createWebhookPurge } from "./purge-webhooks.ts";
import { createWorkspacePurge } from "./purge-workspaces.ts";
import type { Database } from "./schema.ts";
import { originLifetimeDays } from "./sign-in-origins.ts";
import { networkLifetimeDays } from "./write-key-history.ts";

/** One kind of row that is deleted once no query needs it. */
export interface PurgeRule {
  /** The kind of rows, for the log: "expired sessions". */
  readonly name: string;
  readonly deleteBatch: DeleteBatch;
  /** The most calls of `deleteBatch` per round; 20 by default. */
  readonly maxSteps?: number;
}

/**
 * All purge rules, for the tenant role. Whether a row has expired is checked against the database's clock. The history of
 * keys is not included: only the admission role may delete it, in `pruneKeyHistory`.
 * @param options.historyDays how many days a key is kept after its deletion.
 * @param options.instanceLogDays how many days the instance log is kept.
 */
export function createPurgeRules({
  historyDays,
  instanceLogDays,
}: {
  readonly historyDays: number;
  readonly instanceLogDays: number;
}): readonly PurgeRule[] {
  return [
    expired("expired sessions", { table: "sessions", time: "expires_at" }),
    {
      ...expired("expired verifications", { table: "verifications", time: "expires_at" }),
      // Visitors can add challenges from many networks, each of which is limited.
      maxSteps: 1_000,
    },
    {
      ...expired("throttle buckets", { table: "throttle_buckets", time: "full_at" }),
      // Visitors can add a row per network without having a password checked.
      maxSteps: 1_000,
    },
    expired("sign-in origins", {
      table: "sign_in_origins",
      time: "last_used_at",
      keepHours: originLifetimeDays * 24,
    }),
    {
      ...expired("idempotency records", {
        table: "idempotency_records",
        time: "created_at",
        keepHours: idempotencyLifetimeHours,
      }),
      // A user can add 100,000 per hour, so a few users can add more than 20 steps delete.
      maxSteps: 1_000,
    },
    {
      ...expired("idempotency records of verifications", {
        table: "idempotency_records",
        time: "created_at",
        keepHours: verificationLifetimeHours,
        // The condition of the index.
        where: sql`path in (${sql.join(verificationPaths.map((path) => sql.lit(path)))})`,
      }),
      // Every verification can add a record, so as many must be deleted in the same time.
      maxSteps: 1_000,
    },
    expired("notices", { table: "notices", time: "created_at", keepHours: noticeLifetimeDays * 24 }),
    expired("networks of keys", {
      table: "key_networks",
      time: "last_seen_at",
      keepHours: networkLifetimeDays * 24,
    }),
    expired("known devices", {
      table: "known_devices",
      time: "last_used_at",
      keepHours: deviceLifetimeDays * 24,
    }),
    expired("instance events", {
      table: "instance_events",
      time: "occurred_at",
      keepHours: instanceLogDays * 24,
      // The next start of a node compares its registration mode with this event.
      where: sql`id is distinct from (
        select id from instance_events where action = 'registration.changed' order by occurred_at desc, id desc limit 1)`,
      isLockable: false,
    }),
    auditEvents(),
    secretsOfDeletedKeys(historyDays),
    deletedKeys(historyDays),
    { name: "deleted workspaces", deleteBatch: createWorkspacePurge() },
    { name: "deleted webhooks", deleteBatch: createWebhookPurge() },
    { name: "deleted keyspaces", deleteBatch: createKeyspacePurge() },
    { name: "unused consumers", deleteBatch: createConsumerPurge() },
  ];
}

/** Events of audit logs that are older than their workspace keeps them. */
function auditEvents(): PurgeRule {
  return { name: "events of audit logs", deleteBatch: createAuditPurge() };
}

interface Expiry {
  readonly table: keyof Database;
  /** The column with the time at which a row expires. It needs an index. */
  readonly time: string;
  /** How long after that time the row is kept, in hours; 0 by default. */
  readonly keepHours?: number;
  /** Which rows expire; all by default. */
  readonly where?: RawBuilder<unknown>;
  /**
   * False for a log, whose rows the role may delete but not change, and therefore not lock. The statement then waits
   * for another node that deletes the same rows. Both delete rows in the order of the table, so they can't deadlock.
   */
  readonly isLockable?: boolean;
}

/**
 * Deletes the oldest expired rows. Skips rows that another node is deleting or changing, so that nodes neither wait for
 * each other nor deadlock. A locked row can't move, so its `ctid` identifies it.
 */
function expired(
  name: string,
  { table, time, keepHours = 0, where = sql`true`, isLockable = true }: Expiry,
): PurgeRule {
  return {
    name,
    async deleteBatch(db, limit) {
      const { numAffectedRows = 0n } = await sql`
        delete from ${sql.table(table)} where ctid = any(array(
          select ctid from ${sql.table(table)}
          where ${sql.ref(time)} <= now() - make_interval(hours => ${keepHours}) and ${where}
          order by ${sql.ref(time)} limit ${limit} ${isLockable ? sql`for update skip locked` : sql``}
        ))`.execute(db);
      return Number(numAffectedRows);
    },
  };
}

/** A separate rule, because a key can have 100 old secrets and `limit` bounds the rows of one statement. */
function secretsOfDeletedKeys(historyDays: number): PurgeRule {
  return {
    name: "old secrets of deleted keys",
    async deleteBatch(db, limit) {
      const { numAffectedRows = 0n } = await sql`
        delete from retired_secrets where hash = any(array(
          select secret.hash from api_keys key
          join retired_secrets secret on secret.key_id = key.id
          where ${wasDeleted(historyDays)}
          limit ${limit} for update of secret skip locked
        ))`.execute(db);
      return Number(numAffectedRows);
    },
  };
}

/**
 * Deletes keys and, by a trigger, their counters, which it locks first. A key or counter that another transaction has
 * locked is left for a later round. Because the statement waits for no lock, it can't deadlock with admission, which
 * locks counters in the order of their keys. Admission doesn't wait for it either: the deletion incremented the
 * version, so no later statement matches the counter.
 */
function deletedKeys(historyDays: number): PurgeRule {
  return {
    name: "deleted keys",
    async deleteBatch(db, limit) {
      const { rows } = await sql<{ purged: number }>`
        with expired as materialized (
          select id from api_keys key
          where ${wasDeleted(historyDays)}
            and not exists (select from retired_secrets where key_id = key.id)
          order by deleted_at limit ${limit} for update skip locked
        ),
        counters as materialized (
          select key_id from key_counters where key_id in (select id from expired) for update skip locked
        ),
        purged as (
          delete from api_keys where id in (select key_id from counters) returning id
        )
        select count(*) as purged from purged`.execute(db);
      return rows[0]?.purged ?? 0;
    },
  };
}

function wasDeleted(days: number): RawBuilder<unknown> {
  return sql`key.deleted_at <= now() - make_interval(days => ${days})`;
}

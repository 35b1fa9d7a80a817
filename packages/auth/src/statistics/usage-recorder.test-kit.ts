import { randomBytes } from "node:crypto";
import { createId, type KeyId } from "@latchkey/db/ids";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import type { TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import pg from "pg";
import { onTestFinished } from "vitest";
import { admissionKit } from "../admission/admission.test-kit.ts";
import type { RejectionReason } from "../admission/decision.ts";
import type { Verdict } from "../admission/verdict.ts";
import type { RecordedRequest } from "./request-statistics.ts";
import { UsageRecorder, type UsageRecorderOptions } from "./usage-recorder.ts";

const userId = createId("user");

export function admitted(keyId: KeyId, formerSecret?: string): Verdict {
  const principal = {
    keyId,
    userId,
    digest: "",
    restrictions: undefined,
    isRestricted: false,
    isByFormerSecret: false,
  };
  const presented = { keyId, userId, formerSecret };
  return { kind: "admitted", presented, principal, access: undefined, limit: undefined };
}

export function rejected(keyId: KeyId, reason: RejectionReason, formerSecret?: string): Verdict {
  return { kind: "rejected", reason, presented: { keyId, userId, formerSecret } };
}

export function limited(keyId: KeyId): Verdict {
  const limit = { limit: { quota: 1, windowSeconds: 60 }, remaining: 0, resetsInSeconds: 60 };
  return { kind: "limited", presented: { keyId, userId, formerSecret: undefined }, limit };
}

export const workspaceId = createId("workspace");
export const request: RecordedRequest = {
  workspaceId,
  address: "192.0.2.1",
  method: "GET",
  path: "/open/members",
  requestId: "one",
};

/** An old secret of a key. */
interface OldSecret {
  readonly keyId: KeyId;
  /** In base64. */
  readonly digest: string;
  /** Reads when it was last used or rejected. */
  readonly read: () => Promise<unknown>;
}

/** @param database called only when a test needs it, because the file's database is created before its first test. */
export function recorderKit(database: () => TestDatabase) {
  const { addKey } = admissionKit(database);

  /** Opens a recorder with a clock that the test sets. By default, it writes only on command. */
  const openRecorder = (options: Partial<UsageRecorderOptions> = {}) => {
    const clock = { now: new Date("2026-03-02T12:00:00Z") };
    const failures: unknown[] = [];
    const recorder = new UsageRecorder({
      connection: database().connection,
      flushEveryMs: 3_600_000,
      onFailure: (error) => failures.push(error),
      clock: { nowMs: () => clock.now.getTime(), synchronize: async () => undefined },
      ...options,
    });
    onTestFinished(() => recorder.close());
    const advance = async (seconds: number): Promise<void> => {
      clock.now = new Date(clock.now.getTime() + seconds * 1_000);
      await recorder.flush();
    };
    return { recorder, clock, failures, advance };
  };

  const readHours = (keyId: KeyId) =>
    database()
      .owner.selectFrom("key_usage_hours")
      .select(["hour", "workspace_id as workspaceId", "outcome", "count"])
      .where("key_id", "=", keyId)
      .orderBy("hour")
      .orderBy("outcome")
      .execute();

  const addOldSecret = async (): Promise<OldSecret> => {
    const { id: keyId } = await addKey();
    const hash = randomBytes(32);
    const row = { hash, key_id: keyId, start: "lk_abcdef", good_until: new Date() };
    await database().owner.insertInto("retired_secrets").values(row).execute();
    const read = () =>
      database()
        .owner.selectFrom("retired_secrets")
        .select(["last_used_at as usedAt", "refused_at as rejectedAt", "refused_address as rejectedAddress"])
        .where("hash", "=", hash)
        .executeTakeFirst();
    return { keyId, digest: hash.toString("base64"), read };
  };

  /** Locks a key's hours in a separate transaction. The returned function releases them. */
  const holdHours = (keyId: KeyId): Promise<() => Promise<void>> =>
    hold("select from key_usage_hours where key_id = $1 for update", [keyId]);

  /** Prevents changes of a table until the returned function is called. */
  const holdTable = (table: string): Promise<() => Promise<void>> =>
    hold(`lock table ${pg.escapeIdentifier(table)} in share mode`);

  const hold = async (statement: string, parameters: string[] = []): Promise<() => Promise<void>> => {
    const blocker = new pg.Client(testClientConfig(database().connection, "blocker"));
    await blocker.connect();
    onTestFinished(() => blocker.end());
    await blocker.query("begin");
    await blocker.query(statement, parameters);
    return async () => {
      await blocker.query("commit");
    };
  };

  /** Counts the connections of recorders, and how many of those wait for a lock. */
  const countConnections = async (): Promise<{ all: number; waiting: number } | undefined> => {
    const { rows } = await sql<{ all: number; waiting: number }>`
      select count(*) as all, count(*) filter (where wait_event_type = 'Lock') as waiting from pg_stat_activity
      where application_name = 'latchkey statistics' and datname = current_database()`.execute(
      database().owner,
    );
    return rows[0];
  };

  return {
    openRecorder,
    readHours,
    addKey,
    addOldSecret,
    holdHours,
    holdTable,
    countConnections,
  };
}

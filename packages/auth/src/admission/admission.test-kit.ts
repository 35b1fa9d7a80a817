import { randomUUID } from "node:crypto";
import { insertApiKey } from "@latchkey/db/api-key-changes";
import type { KeyId, UserId } from "@latchkey/db/ids";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import type { TestDatabase } from "@latchkey/db/testing/test-database";
import { insertUserWithPassword } from "@latchkey/db/users";
import pg from "pg";
import { onTestFinished } from "vitest";
import { createApiKey } from "../key-format.ts";
import { Admission } from "./admission.ts";
import type { AdmissionOptions } from "./options.ts";
import type { Verdict } from "./verdict.ts";

/** A deadline in milliseconds that no request or connection reaches, even on a busy machine. A test about deadlines sets a shorter one. */
export const patientMs = 60_000;

/**
 * Deadlines of requests, connections and idle transactions. Statement timeouts stay the product's, so that statements that a test blocks
 * end.
 */
export const patientTimeouts = {
  deadlineMs: patientMs,
  connectTimeoutMs: patientMs,
  idleTransactionTimeoutMs: patientMs,
};

/** A key with its secret. */
export interface TestKey {
  readonly userId: UserId;
  readonly id: KeyId;
  readonly secret: string;
}

/** What admission tests use to prepare. */
export interface AdmissionKit {
  /** Opens a new node, which is closed when the test ends. By default, it has the deadlines of {@link patientTimeouts}. */
  readonly openNode: (options?: Partial<AdmissionOptions>) => Admission;
  readonly addUser: () => Promise<UserId>;
  /** Adds a key of this user, or of a new one. */
  readonly addKey: (userId?: UserId) => Promise<TestKey>;
  /** Adds keys of as many new users, and uses each once on the node. */
  readonly addKnownKeys: (node: Admission, count: number) => Promise<readonly TestKey[]>;
  /** Locks a key's row in a separate transaction. The returned function, or the end of the test, releases it. */
  readonly hold: (key: { readonly id: string }) => Promise<() => Promise<void>>;
}

/** Counts the allowed requests among these verdicts. */
export function admitted(verdicts: readonly Verdict[]): number {
  return verdicts.filter((verdict) => verdict.kind === "admitted").length;
}

/** @param database called only when a test needs it, because the file's database is created before its first test. */
export function admissionKit(database: () => TestDatabase): AdmissionKit {
  const addUser = async (): Promise<UserId> => {
    const user = { email: `${randomUUID()}@example.com`, name: "Somebody", passwordHash: "hash" };
    const id = await database()
      .db.transaction()
      .execute((trx) => insertUserWithPassword(trx, user));
    return id as UserId; // No account has this email address.
  };
  const insertKey = async (userId: UserId | undefined): Promise<TestKey> => {
    const owner = userId ?? (await addUser());
    const { secret, start, hash } = createApiKey();
    const key = { userId: owner, name: "key", description: "", start, hash };
    const id = await database()
      .db.transaction()
      .execute((trx) => insertApiKey(trx, key));
    if (!id) throw new Error("The user is disabled.");
    return { userId: owner, id, secret };
  };
  /** Adds keys one after the other: on a busy machine, many concurrent additions wait too long for a connection. */
  let lastAdded: Promise<unknown> = Promise.resolve();
  const addKey = async (userId?: UserId): Promise<TestKey> => {
    const added = lastAdded.then(() => insertKey(userId));
    lastAdded = added.catch(() => undefined);
    return await added;
  };
  return {
    addUser,
    openNode(options = {}) {
      const node = new Admission({ connection: database().connection, ...patientTimeouts, ...options });
      onTestFinished(() => node.close());
      return node;
    },
    addKey,
    async addKnownKeys(node, count) {
      const keys: TestKey[] = [];
      for (let index = 0; index < count; index += 1) {
        const key = await addKey();
        await node.admit(key.secret);
        keys.push(key);
      }
      return keys;
    },
    async hold(key) {
      const blocker = new pg.Client(testClientConfig(database().connection, "blocker"));
      await blocker.connect();
      onTestFinished(() => blocker.end());
      await blocker.query("begin");
      for (const table of ["key_counters", "issued_key_uses"])
        await blocker.query(`select from ${table} where key_id = $1 for update`, [key.id]);
      return async () => {
        await blocker.query("commit");
      };
    },
  };
}

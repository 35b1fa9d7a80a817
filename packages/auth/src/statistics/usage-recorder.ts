import { setTimeout as delay } from "node:timers/promises";
import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { databaseFailure } from "@latchkey/db/database-failure";
import { createId, type KeyId, type WorkspaceId } from "@latchkey/db/ids";
import { pruneKeyHistory } from "@latchkey/db/prune-key-history";
import { ReconnectBackoff } from "@latchkey/db/reconnect-backoff";
import type { Db } from "@latchkey/db/schema";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import { type KeyHistory, writeKeyHistory } from "@latchkey/db/write-key-history";
import type { Presented, Verdict } from "../admission/verdict.ts";
import { siteOf } from "../client-network.ts";
import type { Clock } from "./database-clock.ts";
import { HourCounters } from "./hour-counters.ts";
import { LastSeenRecorder } from "./last-seen-recorder.ts";
import type { Outcome } from "./outcome.ts";
import { RejectionLog } from "./rejection-log.ts";

export interface UsageRecorderOptions {
  readonly connection: DatabaseConnection;
  /** How often recorded data is written, in milliseconds; 1,000 by default. */
  readonly flushEveryMs?: number;
  /** How many days history is kept, and all history of a key after its deletion; 90 by default. */
  readonly keepDays?: number;
  /** Called with each failure to write or prune. */
  readonly onFailure?: (error: unknown) => void;
  /** The database's clock, so that every node counts a request in the same hour. */
  readonly clock: Clock;
}

/** A request with a verdict. */
export interface RecordedRequest {
  /** The workspace that the request asked to access. */
  readonly workspaceId: WorkspaceId | undefined;
  readonly address: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
}

/**
 * The maximum number of counters, and of seen values, per write. Others wait for a later write, and their counts keep
 * growing.
 */
const maxCountsPerWrite = 2_000;
const maxSeenValuesPerWrite = 1_000;
const maxRejectedSecrets = 1_000;
/** The number of writes that is enough to write everything that can wait. */
const maxRounds = 25;
/**
 * How often the clock is synchronized and history is pruned, in milliseconds. In this time, a monotonic clock drifts by
 * a few milliseconds.
 */
const maintainEveryMs = 60_000;
const maxPruneSteps = 20;
/** How long the last writes may take, and then how long the connection may take to end, in milliseconds. */
const lastFlushMs = 2_000;
const disconnectMs = 500;

/**
 * Records the history of keys: hours, last addresses, rejected requests, and the use of old secrets. These are
 * statistics. They are written shortly afterwards on a separate connection, and `kill -9` loses what is not written
 * yet. Admission doesn't wait for them, and their failures don't fail a request. The total and the last use of a key
 * belong to admission and are exact.
 *
 * Data that can't be written is kept and written later. If the response to a commit is lost, its data is written again,
 * and its counts are added twice. If Postgres rejects data for any reason other than being unavailable or busy, the
 * data is dropped, because it would block all later writes. Memory is bounded: see {@link HourCounters},
 * {@link LastSeenRecorder} and {@link RejectionLog}. At most 1,000 old secrets that were used after their overlap wait to
 * be marked; further marks are dropped.
 */
export class UsageRecorder {
  readonly #connection: DatabaseConnection;
  readonly #keepDays: number;
  readonly #onFailure: (error: unknown) => void;
  readonly #clock: Clock;
  readonly #counters: HourCounters;
  readonly #addresses = new LastSeenRecorder();
  /** Uses of old secrets, by digest. */
  readonly #secretUses = new LastSeenRecorder();
  readonly #rejections = new RejectionLog();
  /** The last request with each old secret whose overlap had ended, by digest. */
  readonly #rejectedSecrets = new Map<string, { readonly at: Date; readonly address: string | null }>();
  readonly #timer: NodeJS.Timeout;
  #db: Db;
  /** The time at the last tick, in milliseconds since 1970. Reading the clock takes longer than counting a request. */
  #nowMs: number;
  #maintainedAtMs: number;
  /** The key at which pruning stopped. */
  #prunedUpTo: KeyId | undefined;
  /** Settles when all tasks on the connection, in flight and waiting, have ended. */
  #lastTask: Promise<void> = Promise.resolve();
  /** Skips ticks after a failure, for at most 3 s, so that writing resumes within 5 s after the database is back. */
  readonly #backoff = new ReconnectBackoff({ firstMs: 1_000, maxMs: 3_000 });
  #isBusy = false;
  #isClosed = false;

  constructor(options: UsageRecorderOptions) {
    this.#connection = options.connection;
    this.#keepDays = options.keepDays ?? 90;
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#clock = options.clock;
    this.#nowMs = this.#clock.nowMs();
    this.#counters = new HourCounters(new Date(this.#nowMs));
    this.#maintainedAtMs = this.#nowMs;
    this.#db = this.#open();
    this.#timer = setInterval(() => this.#tick(), options.flushEveryMs ?? 1_000);
    this.#timer.unref();
  }

  /**
   * Records the verdict of a request. An allowed request costs a few map lookups and no I/O. Does not record requests
   * with a token that no key has, or requests without an answer from the database.
   */
  record(verdict: Verdict, request: RecordedRequest): void {
    switch (verdict.kind) {
      case "admitted":
        this.recordUse(verdict.presented, request);
        return;
      case "limited":
        this.#recordRejection(verdict.presented, verdict.kind, request);
        return;
      case "rejected":
        if (verdict.presented) this.#recordRejection(verdict.presented, verdict.reason as Outcome, request); // A key was found.
        return;
      case "unavailable":
        return;
      default:
        verdict satisfies never;
    }
  }

  /** Records the use of a key. */
  recordUse(
    presented: Presented,
    { workspaceId, address }: Pick<RecordedRequest, "workspaceId" | "address">,
  ): void {
    const { keyId, formerSecret } = presented;
    this.#counters.count(presented, workspaceId, "admitted");
    if (address !== undefined) this.#addresses.record(keyId, address, this.#nowMs);
    if (formerSecret !== undefined) this.#secretUses.record(keyId, formerSecret, this.#nowMs);
  }

  /** Performs one write; never throws. */
  async flush(): Promise<void> {
    this.#readClock();
    await this.#enqueue(() => this.#write());
  }

  /** Writes everything that waits, for two seconds at most, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#readClock();
    const written = this.#enqueue(async () => {
      for (let round = 0; round < maxRounds && this.#hasPendingWrites(); round += 1)
        if (!(await this.#write())) return;
    });
    await Promise.race([written, delay(lastFlushMs, undefined, { ref: false })]);
    await Promise.race([this.#db.destroy(), delay(disconnectMs, undefined, { ref: false })]);
  }

  #recordRejection(presented: Presented, reason: Outcome, request: RecordedRequest): void {
    const { keyId, formerSecret } = presented;
    const workspaceId = memberOutcomes.has(reason) ? request.workspaceId : undefined;
    this.#counters.count(presented, workspaceId, reason);
    const { method, path, requestId } = request;
    const at = new Date(this.#clock.nowMs());
    const address = request.address ?? null;
    // Rejected requests are listed in the order of their IDs, so those need the time of the same clock.
    const id = createId("keyRejection", at);
    this.#rejections.add({ keyId, id, occurredAt: at, address, method, path, requestId, reason });
    if (reason !== "rotated-out" || formerSecret === undefined) return;
    if (this.#rejectedSecrets.size < maxRejectedSecrets || this.#rejectedSecrets.has(formerSecret))
      this.#rejectedSecrets.set(formerSecret, { at, address });
  }

  #tick(): void {
    this.#readClock();
    if (this.#isBusy || !this.#backoff.isDue) return;
    void this.#enqueue(async () => {
      const isDue = this.#nowMs - this.#maintainedAtMs >= maintainEveryMs;
      if (isDue) await this.#synchronize();
      await this.#write();
      if (isDue) await this.#prune();
    });
  }

  #readClock(): void {
    this.#nowMs = this.#clock.nowMs();
    this.#counters.setHour(new Date(this.#nowMs));
  }

  /**
   * The next synchronization is due a minute after the new time, so that a clock that was set back doesn't delay it.
   */
  async #synchronize(): Promise<void> {
    await this.#attempt((db) => this.#clock.synchronize(db));
    this.#readClock();
    this.#maintainedAtMs = this.#nowMs;
  }

  async #enqueue(work: () => Promise<unknown>): Promise<void> {
    const task = this.#lastTask.then(async () => {
      this.#isBusy = true;
      try {
        await work();
      } catch {
        // `onFailure` threw. The next task must run anyway.
      } finally {
        this.#isBusy = false;
      }
    });
    this.#lastTask = task;
    await task;
  }

  #hasPendingWrites(): boolean {
    return (
      this.#counters.pendingCount +
        this.#addresses.pendingCount +
        this.#secretUses.pendingCount +
        this.#rejections.pendingCount +
        this.#rejectedSecrets.size >
      0
    );
  }

  /** Performs one write. Returns false if it must be tried again. */
  async #write(): Promise<boolean> {
    if (!this.#hasPendingWrites()) return true;
    const usage = this.#counters.take(maxCountsPerWrite);
    const addresses = this.#addresses.take(maxSeenValuesPerWrite);
    const uses = this.#secretUses.take(maxSeenValuesPerWrite);
    const rejections = this.#rejections.take();
    const rejectedSecrets = [...this.#rejectedSecrets];
    const history: KeyHistory = {
      usage,
      addresses: addresses.map(({ keyId, text, at }) => ({
        keyId,
        address: text,
        network: siteOf(text),
        lastSeenAt: at,
      })),
      rejections,
      secrets: [
        ...uses.map(({ text, at }) => ({ ...emptyMark, digest: text, usedAt: at })),
        ...rejectedSecrets.map(([digest, { at, address }]) => ({
          ...emptyMark,
          digest,
          rejectedAt: at,
          rejectedAddress: address,
        })),
      ],
    };
    if ((await this.#attempt((db) => writeKeyHistory(db, history))) === "unavailable") return false;
    this.#counters.settle(usage);
    this.#addresses.settle(addresses);
    this.#secretUses.settle(uses);
    this.#rejections.settle(rejections);
    for (const [digest, mark] of rejectedSecrets)
      if (this.#rejectedSecrets.get(digest) === mark) this.#rejectedSecrets.delete(digest);
    return true;
  }

  /** Continues where the last run stopped, while there are hours to delete and keys to visit. */
  async #prune(): Promise<void> {
    for (let step = 0; step < maxPruneSteps && !this.#isClosed; step += 1) {
      const after = this.#prunedUpTo;
      const pruned = await this.#attempt((db) => pruneKeyHistory(db, { keepDays: this.#keepDays, after }));
      if (typeof pruned === "string") return;
      this.#prunedUpTo = pruned.next;
      if (pruned.hours === 0 && (pruned.next === undefined || pruned.next === after)) return;
    }
  }

  /**
   * Runs `work` on the connection. Replaces the connection after a failure, because one that doesn't respond would also
   * fail the next task.
   */
  async #attempt<Result>(work: (db: Db) => Promise<Result>): Promise<Result | "unavailable" | "failed"> {
    try {
      const result = await work(this.#db);
      this.#backoff.succeed();
      return result;
    } catch (error) {
      if (databaseFailure(error) && !isDefiniteAbort(error)) this.#backoff.fail(error);
      this.#onFailure(error);
      if (!this.#isClosed) {
        this.#db.destroy().catch(() => undefined);
        this.#db = this.#open();
      }
      return databaseFailure(error) || isDefiniteAbort(error) ? "unavailable" : "failed";
    }
  }

  #open(): Db {
    return openDatabase(this.#connection, {
      role: "latchkey_admission",
      applicationName: "latchkey statistics",
      maxConnections: 1,
    });
  }
}

const emptyMark = { usedAt: null, rejectedAt: null, rejectedAddress: null };

/**
 * Outcomes which prove that the key's user is a member of the requested workspace. Others are counted under no
 * workspace, because anyone with a key could otherwise fill the history with made-up workspaces.
 */
const memberOutcomes: ReadonlySet<Outcome> = new Set([
  "limited",
  "blocked",
  "policy",
  "no-permission",
  "permission-not-in-key",
]);

import { setTimeout as delay } from "node:timers/promises";
import { type DatabaseConnection, openDatabase } from "@latchkey/db/connection";
import { databaseFailure } from "@latchkey/db/database-failure";
import { createId, type KeyId, type WorkspaceId } from "@latchkey/db/ids";
import { type KeyHistory, pruneKeyHistory, writeKeyHistory } from "@latchkey/db/key-history";
import { ReconnectBackoff } from "@latchkey/db/reconnect-backoff";
import type { Db } from "@latchkey/db/schema";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type { Presented, Verdict } from "../admission/verdict.ts";
import type { Clock } from "./database-clock.ts";
import { HourCounters } from "./hour-counters.ts";
import { MinuteNotes } from "./minute-notes.ts";
import type { Outcome } from "./outcome.ts";
import { RefusalLog } from "./refusal-log.ts";

export interface UsageRecorderOptions {
  readonly connection: DatabaseConnection;
  /** How often what was recorded is written, in milliseconds; 1,000 unless told. */
  readonly flushEveryMs?: number;
  /** How many days history is kept, and all history of a key after its deletion; 90 by default. */
  readonly keepDays?: number;
  /** Told of each failure to write or to prune. */
  readonly onFailure?: (error: unknown) => void;
  /** The database's clock, so that every node counts a request in the same hour. */
  readonly clock: Clock;
}

/** A request that was given a verdict. */
export interface RecordedRequest {
  /** The workspace that it asked for. */
  readonly workspaceId: WorkspaceId | undefined;
  readonly address: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
}

/** At most so many rows are written at once; what is more waits for its turn, and adds up meanwhile. */
const countsAtOnce = 2_000;
const notesAtOnce = 1_000;
const maxRotatedOut = 1_000;
/** As many as write all that may wait. */
const maxRounds = 25;
/** How often the clock is synchronized, within which a monotonic clock drifts by a few milliseconds, and history pruned. */
const maintainEveryMs = 60_000;
const maxPruneSteps = 20;
/** How long the last flush may take, and after it the database to end the connection, in milliseconds. */
const lastFlushMs = 2_000;
const goodbyeMs = 500;

/**
 * Tells the history of keys: hours, last addresses, refusals, and what becomes of former secrets. These are statistics:
 * they are written a moment later on a connection of their own, `kill -9` loses that moment, no admission waits for them
 * and no failure of theirs fails a request. Total and last use of a key are admission's and exact.
 *
 * What cannot be written is kept and written later. A commit whose answer was lost is written again, so that its counts
 * come twice. What Postgres refuses for any other reason than that it is away or busy is dropped, lest it be in the way
 * for ever. Memory is bounded: see {@link HourCounters}, {@link MinuteNotes}, {@link RefusalLog}; marks of 1,000 secrets
 * used after their overlap wait, of any other the mark is dropped.
 */
export class UsageRecorder {
  readonly #connection: DatabaseConnection;
  readonly #keepDays: number;
  readonly #onFailure: (error: unknown) => void;
  readonly #clock: Clock;
  readonly #counters: HourCounters;
  readonly #addresses = new MinuteNotes();
  /** By digest. */
  readonly #secretUses = new MinuteNotes();
  readonly #refusals = new RefusalLog();
  /** By digest, when and from where a secret was presented whose overlap was over, for the last time. */
  readonly #rotatedOut = new Map<string, { readonly at: Date; readonly address: string | null }>();
  readonly #timer: NodeJS.Timeout;
  #db: Db;
  /** The time as of the last tick, in milliseconds since 1970: to ask for it costs more than to count a request. */
  #nowMs: number;
  #maintainedAtMs: number;
  /** The key that pruning came to. */
  #prunedUpTo: KeyId | undefined;
  /** What is under way on the connection, and what waits for it. */
  #turns: Promise<void> = Promise.resolve();
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
   * Notes what became of a request. An admitted one costs a few look-ups and no I/O. Nothing is told of tokens that no key
   * has, nor of requests without an answer from the database.
   */
  record(verdict: Verdict, request: RecordedRequest): void {
    switch (verdict.kind) {
      case "admitted": {
        const { keyId, retiredSecret } = verdict.presented;
        this.#counters.count(keyId, request.workspaceId, "admitted");
        if (request.address !== undefined) this.#addresses.note(keyId, request.address, this.#nowMs);
        if (retiredSecret !== undefined) this.#secretUses.note(keyId, retiredSecret, this.#nowMs);
        return;
      }
      case "limited":
        this.#refuse(verdict.presented, verdict.kind, request);
        return;
      case "refused":
        if (verdict.presented) this.#refuse(verdict.presented, verdict.reason as Outcome, request); // A key was found.
        return;
      case "unavailable":
        return;
      default:
        verdict satisfies never;
    }
  }

  /** Writes what there is, as much as is written at once; never throws. */
  async flush(): Promise<void> {
    this.#readClock();
    await this.#inTurn(() => this.#write());
  }

  /** Writes all that there is, for two seconds at most, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#readClock();
    const written = this.#inTurn(async () => {
      for (let round = 0; round < maxRounds && this.#hasWaiting(); round += 1)
        if (!(await this.#write())) return;
    });
    await Promise.race([written, delay(lastFlushMs, undefined, { ref: false })]);
    await Promise.race([this.#db.destroy(), delay(goodbyeMs, undefined, { ref: false })]);
  }

  #refuse({ keyId, retiredSecret }: Presented, reason: Outcome, request: RecordedRequest): void {
    const workspaceId = provenMember.has(reason) ? request.workspaceId : undefined;
    this.#counters.count(keyId, workspaceId, reason);
    const { method, path, requestId } = request;
    const at = new Date(this.#clock.nowMs());
    const address = request.address ?? null;
    // Rejected requests are listed in the order of their IDs, so those need the time of the same clock.
    const id = createId("keyRefusal", at);
    this.#refusals.add({ keyId, id, occurredAt: at, address, method, path, requestId, reason });
    if (reason !== "rotated-out" || retiredSecret === undefined) return;
    if (this.#rotatedOut.size < maxRotatedOut || this.#rotatedOut.has(retiredSecret))
      this.#rotatedOut.set(retiredSecret, { at, address });
  }

  #tick(): void {
    this.#readClock();
    if (this.#isBusy || !this.#backoff.isDue) return;
    void this.#inTurn(async () => {
      const isDue = this.#nowMs - this.#maintainedAtMs >= maintainEveryMs;
      if (isDue) await this.#synchronize();
      await this.#write();
      if (isDue) await this.#prune();
    });
  }

  #readClock(): void {
    this.#nowMs = this.#clock.nowMs();
    this.#counters.turnTo(new Date(this.#nowMs));
  }

  /** The next synchronization is due a minute after the new time, so that a clock that was set back does not delay it. */
  async #synchronize(): Promise<void> {
    await this.#attempt((db) => this.#clock.synchronize(db));
    this.#readClock();
    this.#maintainedAtMs = this.#nowMs;
  }

  async #inTurn(work: () => Promise<unknown>): Promise<void> {
    const turn = this.#turns.then(async () => {
      this.#isBusy = true;
      try {
        await work();
      } catch {
        // Whoever is told of failures threw: the next turn must come all the same.
      } finally {
        this.#isBusy = false;
      }
    });
    this.#turns = turn;
    await turn;
  }

  #hasWaiting(): boolean {
    return (
      this.#counters.waiting +
        this.#addresses.waiting +
        this.#secretUses.waiting +
        this.#refusals.waiting +
        this.#rotatedOut.size >
      0
    );
  }

  /** Writes as much as is written at once; false where it must be tried again. */
  async #write(): Promise<boolean> {
    if (!this.#hasWaiting()) return true;
    const usage = this.#counters.take(countsAtOnce);
    const addresses = this.#addresses.take(notesAtOnce);
    const uses = this.#secretUses.take(notesAtOnce);
    const refusals = this.#refusals.take();
    const rotatedOut = [...this.#rotatedOut];
    const history: KeyHistory = {
      usage,
      addresses: addresses.map(({ keyId, text, at }) => ({ keyId, address: text, lastSeenAt: at })),
      refusals,
      secrets: [
        ...uses.map(({ text, at }) => ({ ...unmarked, digest: text, usedAt: at })),
        ...rotatedOut.map(([digest, { at, address }]) => ({
          ...unmarked,
          digest,
          refusedAt: at,
          refusedAddress: address,
        })),
      ],
    };
    if ((await this.#attempt((db) => writeKeyHistory(db, history))) === "away") return false;
    this.#counters.settle(usage);
    this.#addresses.settle(addresses);
    this.#secretUses.settle(uses);
    this.#refusals.settle(refusals);
    for (const [digest, mark] of rotatedOut)
      if (this.#rotatedOut.get(digest) === mark) this.#rotatedOut.delete(digest);
    return true;
  }

  /** Goes on where it stopped a minute before, while there are hours to delete and keys to look at. */
  async #prune(): Promise<void> {
    for (let step = 0; step < maxPruneSteps && !this.#isClosed; step += 1) {
      const after = this.#prunedUpTo;
      const pruned = await this.#attempt((db) => pruneKeyHistory(db, { keepDays: this.#keepDays, after }));
      if (typeof pruned === "string") return;
      this.#prunedUpTo = pruned.next;
      if (pruned.hours === 0 && (pruned.next === undefined || pruned.next === after)) return;
    }
  }

  /** A connection on which something failed is given up: one that is silent would be so for the next as well. */
  async #attempt<Result>(work: (db: Db) => Promise<Result>): Promise<Result | "away" | "failed"> {
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
      return databaseFailure(error) || isDefiniteAbort(error) ? "away" : "failed";
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

const unmarked = { usedAt: null, refusedAt: null, refusedAddress: null };

/**
 * Outcomes that tell that the key's user is a member of the workspace asked for. Others are counted under none: whoever
 * has a key could else fill the history with workspaces that they make up.
 */
const provenMember: ReadonlySet<Outcome> = new Set(["limited", "no-permission", "permission-not-in-key"]);

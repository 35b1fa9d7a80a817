import type { DatabaseConnection } from "@latchkey/db/connection";
import type { KeyId, UserId } from "@latchkey/db/ids";
import pg from "pg";
import { digestKey, isWellFormedApiKey } from "../key-format.ts";
import { FactsMemory } from "./facts-memory.ts";
import { judge, type KeyFacts, type RefusalReason } from "./judge.ts";
import { AdmissionLink } from "./link.ts";
import { type Findings, type LockMode, runStatement } from "./statement.ts";

/** On whose behalf an admitted request acts. */
export interface Principal {
  readonly keyId: KeyId;
  readonly userId: UserId;
}

/** What admission answers; it never throws. */
export type Verdict =
  | { readonly kind: "admitted"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly reason: RefusalReason }
  /** The database did not confirm in time, or too many requests wait. The use may have been counted. */
  | { readonly kind: "unavailable"; readonly retryAfterSeconds: number };

export interface AdmissionOptions {
  readonly connection: DatabaseConnection;
  /** How long a request may wait for its verdict, in milliseconds. */
  readonly deadlineMs?: number;
  /** How many requests may wait at once; one more is answered "unavailable" there and then. */
  readonly maxWaiting?: number;
  /** How many keys' facts a node remembers. */
  readonly maxRemembered?: number;
  /** Told of each statement that is sent: how many keys it spends on, and how many it looks up. */
  readonly onStatement?: (batch: { readonly asks: number; readonly probes: number }) => void;
  /** Told of each failure of the statement or its connection. */
  readonly onFailure?: (error: unknown) => void;
}

/** At most so many requests in one statement. */
const maxBatch = 1_024;
/** How long to leave a row alone that another transaction holds, in milliseconds. */
const blockedPauseMs = 10;
const sweepEveryMs = 100;
/** No key has it, so that asking for it reads the database and changes nothing. */
const digestOfNoKey = Buffer.alloc(32).toString("base64");

interface Waiter {
  readonly digest: string;
  readonly arrivedAt: number;
  readonly answer: (verdict: Verdict) => void;
  isAnswered: boolean;
}

/**
 * The one step that verifies and counts a request.
 *
 * Group commit: one statement is in flight; requests that arrive meanwhile wait, and the next statement takes
 * them all. A request is answered when the transaction of its batch has committed, so that there is no cache
 * to invalidate and no buffer to lose.
 */
export class Admission {
  readonly #link: AdmissionLink;
  readonly #memory: FactsMemory;
  readonly #deadlineMs: number;
  readonly #maxWaiting: number;
  readonly #onStatement: NonNullable<AdmissionOptions["onStatement"]>;
  readonly #onFailure: NonNullable<AdmissionOptions["onFailure"]>;
  readonly #sweeper: NodeJS.Timeout;
  #waiting: Waiter[] = [];
  #inFlight: readonly Waiter[] = [];
  /** Keys whose rows another transaction held when their turn came. */
  readonly #held = new Set<KeyId>();
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: AdmissionOptions) {
    this.#link = new AdmissionLink(options.connection);
    this.#memory = new FactsMemory(options.maxRemembered ?? 100_000);
    this.#deadlineMs = options.deadlineMs ?? 1_500;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    this.#onStatement = options.onStatement ?? (() => undefined);
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  /** Judges and counts one request with this token. The token may be anything that a caller sent. */
  admit(token: string): Promise<Verdict> {
    if (!isWellFormedApiKey(token)) return Promise.resolve({ kind: "refused", reason: "malformed" });
    return this.#enqueue(digestKey(token));
  }

  /** Whether requests can be admitted right now, found out by asking the database. */
  async isAvailable(): Promise<boolean> {
    return (await this.#enqueue(digestOfNoKey)).kind !== "unavailable";
  }

  /** Finishes the statement under way, answers "unavailable" to what waits, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    clearInterval(this.#sweeper);
    for (const waiter of this.#waiting) settle(waiter, unavailable);
    this.#waiting = [];
    await this.#link.close();
  }

  #enqueue(digest: string): Promise<Verdict> {
    if (this.#waiting.length >= this.#maxWaiting) return Promise.resolve(unavailable);
    return new Promise((answer) => {
      this.#queue([{ digest, arrivedAt: performance.now(), answer, isAnswered: false }]);
    });
  }

  #queue(waiters: readonly Waiter[]): void {
    if (this.#isClosed) {
      for (const waiter of waiters) settle(waiter, unavailable);
      return;
    }
    this.#waiting.push(...waiters);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      this.#inFlight = this.#waiting.splice(0, maxBatch);
      const { free, held } = this.#compose(this.#inFlight);
      await this.#runBatch(free, "wait");
      await this.#runBatch(held, "skip");
    }
    this.#inFlight = [];
    // Here and not in a `finally`: who arrives after the last look at the queue must find nobody running.
    this.#running = undefined;
  }

  async #runBatch(batch: Batch, mode: LockMode): Promise<void> {
    if (batch.spending.size + batch.probing.size === 0) return;
    try {
      this.#conclude(batch, await this.#execute(batch, mode));
    } catch (error) {
      this.#onFailure(error);
      for (const { waiters } of batch.spending.values())
        for (const waiter of waiters) settle(waiter, unavailable);
      for (const waiters of batch.probing.values()) for (const waiter of waiters) settle(waiter, unavailable);
    }
  }

  /**
   * Sorts requests into what can be spent on remembered facts and what must be looked up; apart from both, the keys
   * whose rows another transaction held the last time, so that nobody else waits for them.
   */
  #compose(waiters: readonly Waiter[]): { readonly free: Batch; readonly held: Batch } {
    const free: Batch = { spending: new Map(), probing: new Map() };
    const held: Batch = { spending: new Map(), probing: new Map() };
    const latest = performance.now() - this.#deadlineMs;
    for (const waiter of waiters) {
      if (waiter.arrivedAt < latest) settle(waiter, unavailable);
      if (waiter.isAnswered) continue;
      const facts = this.#memory.recall(waiter.digest);
      const { spending, probing } = facts && this.#held.has(facts.keyId) ? held : free;
      const together = facts ? spending.get(facts.keyId)?.waiters : probing.get(waiter.digest);
      if (together) together.push(waiter);
      else if (facts) spending.set(facts.keyId, { facts, waiters: [waiter] });
      else probing.set(waiter.digest, [waiter]);
    }
    return { free, held };
  }

  /** Runs the statement; once more, past locked rows, after an abort that certainly changed nothing. */
  async #execute(batch: Batch, mode: LockMode): Promise<Findings> {
    const asks = [...batch.spending.values()].map(({ facts, waiters }) => ({
      keyId: facts.keyId,
      uses: waiters.length,
      version: facts.version,
    }));
    const probes = [...batch.probing.keys()];
    const client = await this.#link.client();
    const run = (lockMode: LockMode): Promise<Findings> => {
      this.#onStatement({ asks: asks.length, probes: probes.length });
      return runStatement(client, { asks, probes, mode: lockMode });
    };
    try {
      return await run(mode);
    } catch (error) {
      if (!isCertainAbort(error)) throw error;
      return await run("skip");
    }
  }

  /** Answers what is decided and queues the rest again: facts that were new, and rows that were held. */
  #conclude(batch: Batch, findings: Findings): void {
    const again: Waiter[] = [];
    for (const { facts, waiters } of batch.spending.values()) {
      const { keyId, userId, version } = facts;
      if (!findings.uncounted.has(keyId)) {
        this.#held.delete(keyId);
        const verdict = { kind: "admitted", principal: { keyId, userId } } as const;
        for (const waiter of waiters) settle(waiter, verdict);
        continue;
      }
      const current = findings.uncounted.get(keyId);
      if (current?.version === version) this.#pause(keyId, waiters);
      else again.push(...this.#learn(current, waiters));
    }
    for (const [digest, waiters] of batch.probing) {
      again.push(...this.#learn(findings.probed.get(digest), waiters));
    }
    this.#waiting = again.concat(this.#waiting);
  }

  /** Judges by facts that were read after these requests arrived; what is allowed must still be spent. */
  #learn(facts: KeyFacts | undefined, waiters: readonly Waiter[]): readonly Waiter[] {
    const judgement = facts ? judge(facts) : ({ kind: "refused", reason: "unknown" } as const);
    if (facts && judgement.kind === "allowed") {
      for (const { digest } of waiters) this.#memory.remember(digest, facts);
      return waiters;
    }
    for (const waiter of waiters) {
      this.#memory.forget(waiter.digest);
      if (judgement.kind === "refused") settle(waiter, judgement);
    }
    return [];
  }

  /** Leaves requests aside for a moment because another transaction holds their key's row. */
  #pause(keyId: KeyId, waiters: readonly Waiter[]): void {
    this.#held.add(keyId);
    setTimeout(() => this.#queue(waiters), blockedPauseMs);
  }

  /** Holds the deadline, whatever the database does. */
  #sweep(): void {
    const latest = performance.now() - this.#deadlineMs;
    const isLate = (waiter: Waiter): boolean => waiter.arrivedAt < latest;
    if (this.#inFlight.some((waiter) => isLate(waiter) && !waiter.isAnswered)) {
      for (const waiter of this.#inFlight) settle(waiter, unavailable);
      this.#link.drop();
    }
    for (const waiter of this.#waiting.filter(isLate)) settle(waiter, unavailable);
    this.#waiting = this.#waiting.filter((waiter) => !waiter.isAnswered);
  }
}

interface Batch {
  readonly spending: Map<KeyId, { readonly facts: KeyFacts; readonly waiters: Waiter[] }>;
  readonly probing: Map<string, Waiter[]>;
}

const unavailable = { kind: "unavailable", retryAfterSeconds: 1 } as const satisfies Verdict;

function settle(waiter: Waiter, verdict: Verdict): void {
  if (waiter.isAnswered) return;
  waiter.isAnswered = true;
  waiter.answer(verdict);
}

/** Deadlock, serialization failure, lock not had in time: Postgres rolled back and said so. */
function isCertainAbort(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ["40P01", "40001", "55P03"].includes(error.code ?? "");
}

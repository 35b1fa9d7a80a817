import { setImmediate as turn } from "node:timers/promises";
import type { DatabaseConnection } from "@latchkey/db/connection";
import type { KeyId } from "@latchkey/db/ids";
import pg from "pg";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { FactsMemory } from "./facts-memory.ts";
import { type Batch, composeBatches, listAsks, listWaiters, type Spending, type Waiter } from "./batch.ts";
import { judge, type KeyFacts } from "./judge.ts";
import { AdmissionLink } from "./link.ts";
import { type Ask, countUses, type Findings, resolveUses } from "./statement.ts";
import type { Verdict } from "./verdict.ts";

export interface AdmissionOptions {
  readonly connection: DatabaseConnection;
  /** How long a request may wait for its verdict, in milliseconds. */
  readonly deadlineMs?: number;
  /** How many requests may be without a verdict at once; one more is answered "unavailable" there and then. */
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
/** How long to leave alone what another transaction holds, in milliseconds. */
const blockedPauseMs = 10;
const sweepEveryMs = 100;
/** No key has it, so that asking for it reads the database and changes nothing. */
const digestOfNoKey = Buffer.alloc(32).toString("base64");

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
  /** Requests without a verdict: in the queue, under way, or aside. */
  #unanswered = 0;
  #waiting: Waiter[] = [];
  #inFlight: readonly Waiter[] = [];
  /** Keys that were not counted when their turn came: their version had moved, or another transaction holds them. */
  readonly #apart = new Set<KeyId>();
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
    if (token.length !== apiKeyLength) return Promise.resolve(malformed);
    const digest = digestKey(token);
    const facts = this.#memory.recall(digest);
    // What is remembered was well-formed.
    if (!facts && !isWellFormedApiKey(token)) return Promise.resolve(malformed);
    return this.#enqueue(digest, facts);
  }

  /** Whether requests can be admitted right now, found out by asking the database. */
  async isAvailable(): Promise<boolean> {
    return (await this.#enqueue(digestOfNoKey, undefined)).kind !== "unavailable";
  }

  /** Finishes the statement under way, answers "unavailable" to what waits, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    clearInterval(this.#sweeper);
    for (const waiter of this.#waiting) this.#settle(waiter, unavailable);
    this.#waiting = [];
    await this.#link.close();
  }

  #enqueue(digest: string, facts: KeyFacts | undefined): Promise<Verdict> {
    if (this.#unanswered >= this.#maxWaiting || this.#isClosed) return Promise.resolve(unavailable);
    this.#unanswered += 1;
    return new Promise((answer) => {
      this.#waiting.push({ digest, facts, arrivedAt: performance.now(), answer, isAnswered: false });
      this.#running ??= this.#run();
    });
  }

  /** Sends one statement after the other while anybody waits. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      // The event loop hands over the requests that have arrived one by one: all of them go together.
      await turn();
      this.#inFlight = this.#waiting.splice(0, maxBatch);
      this.#giveUpLate(this.#inFlight);
      const { together, apart } = composeBatches(this.#inFlight, this.#apart);
      if (together.size > 0) await this.#count(together);
      if (apart.spending.size + apart.probing.size > 0) await this.#resolve(apart);
    }
    this.#inFlight = [];
    // Here and not in a `finally`: who arrives after the last look at the queue must find nobody running.
    this.#running = undefined;
  }

  /** Answers requests whose time is over. */
  #giveUpLate(waiters: readonly Waiter[]): void {
    const latest = performance.now() - this.#deadlineMs;
    for (const waiter of waiters) if (waiter.arrivedAt < latest) this.#settle(waiter, unavailable);
  }

  /** Counts what is remembered, and queues again what was not counted. */
  async #count(spending: Batch["spending"]): Promise<void> {
    try {
      const uncounted = await this.#send(spending, [], countUses);
      const again: Waiter[] = [];
      for (const keyId of uncounted) {
        this.#apart.add(keyId);
        again.push(...(spending.get(keyId)?.waiters ?? []));
        spending.delete(keyId);
      }
      for (const counted of spending.values()) this.#admit(counted);
      if (again.length > 0) this.#waiting = again.concat(this.#waiting);
    } catch (error) {
      const batch: Batch = { spending, probing: new Map() };
      // Nothing was changed, and nobody is told yet: past the locked rows it may go.
      if (isCertainAbort(error)) await this.#resolve(batch);
      else this.#fail(batch, error);
    }
  }

  /** Counts what can be counted past rows that others hold, and learns about the rest. */
  async #resolve(batch: Batch): Promise<void> {
    try {
      this.#conclude(batch, await this.#send(batch.spending, [...batch.probing.keys()], resolveUses));
    } catch (error) {
      // Rows are skipped, a whole table that somebody has locked is not.
      if (isCertainAbort(error)) this.#setAside(listWaiters(batch));
      else this.#fail(batch, error);
    }
  }

  async #send<Result>(
    spending: Batch["spending"],
    probes: readonly string[],
    run: (client: pg.Client, asks: readonly Ask[], probes: readonly string[]) => Promise<Result>,
  ): Promise<Result> {
    const asks = listAsks(spending);
    // Where the connection is there, the statement leaves at once, before anything else is done.
    const client = this.#link.live ?? (await this.#link.connect());
    this.#onStatement({ asks: asks.length, probes: probes.length });
    return await run(client, asks, probes);
  }

  #fail(batch: Batch, error: unknown): void {
    this.#onFailure(error);
    for (const waiter of listWaiters(batch)) this.#settle(waiter, unavailable);
  }

  /** Answers what is decided and queues the rest again: facts that were new, and rows that were held. */
  #conclude(batch: Batch, findings: Findings): void {
    const again: Waiter[] = [];
    for (const [keyId, spending] of batch.spending) {
      const current = findings.uncounted.get(keyId);
      if (current?.version === spending.facts.version) {
        this.#apart.add(keyId);
        this.#setAside(spending.waiters);
        continue;
      }
      this.#apart.delete(keyId);
      if (findings.uncounted.has(keyId)) again.push(...this.#learn(current, spending.waiters));
      else this.#admit(spending);
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
      for (const waiter of waiters) {
        this.#memory.remember(waiter.digest, facts);
        waiter.facts = facts;
      }
      return waiters;
    }
    for (const waiter of waiters) {
      this.#memory.forget(waiter.digest);
      if (judgement.kind === "refused") this.#settle(waiter, judgement);
    }
    return [];
  }

  /** Leaves requests alone for a moment, because another transaction holds what they need. */
  #setAside(waiters: readonly Waiter[]): void {
    setTimeout(() => {
      if (this.#isClosed) for (const waiter of waiters) this.#settle(waiter, unavailable);
      else this.#waiting.push(...waiters);
      this.#running ??= this.#run();
    }, blockedPauseMs);
  }

  /** Tells requests that were counted. */
  #admit({ facts: { keyId, userId }, waiters }: Spending): void {
    const verdict = { kind: "admitted", principal: { keyId, userId } } as const;
    for (const waiter of waiters) this.#settle(waiter, verdict);
  }

  #settle(waiter: Waiter, verdict: Verdict): void {
    if (waiter.isAnswered) return;
    waiter.isAnswered = true;
    this.#unanswered -= 1;
    waiter.answer(verdict);
  }

  /** Holds the deadline, whatever the database does. */
  #sweep(): void {
    const latest = performance.now() - this.#deadlineMs;
    const isLate = (waiter: Waiter): boolean => waiter.arrivedAt < latest;
    if (this.#inFlight.some((waiter) => isLate(waiter) && !waiter.isAnswered)) {
      for (const waiter of this.#inFlight) this.#settle(waiter, unavailable);
      this.#link.drop();
    }
    this.#giveUpLate(this.#waiting);
    this.#waiting = this.#waiting.filter((waiter) => !waiter.isAnswered);
  }
}

const malformed = { kind: "refused", reason: "malformed" } as const satisfies Verdict;
const unavailable = { kind: "unavailable", retryAfterSeconds: 1 } as const satisfies Verdict;

/** Deadlock, serialization failure, lock not had in time: Postgres rolled back and said so. */
function isCertainAbort(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ["40P01", "40001", "55P03"].includes(error.code ?? "");
}

import type { KeyId } from "@latchkey/db/ids";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type pg from "pg";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { answerCounted, malformed, presentedBy, unavailable, unknown } from "./answer.ts";
import type { Ask } from "./ask.ts";
import {
  type Batch,
  composeBatches,
  type Incoming,
  listAsks,
  listFirstUses,
  listWaiters,
  type Probing,
  requestOfNoKey,
  type Spending,
  type Waiter,
} from "./batch.ts";
import { FactsMemory } from "./facts-memory.ts";
import { type Demand, judge, judgeKey, type KeyFacts } from "./judge.ts";
import { AdmissionLink } from "./link.ts";
import type { AdmissionOptions } from "./options.ts";
import type { Spent } from "./spend.ts";
import { countUses, type Findings, type Probe, resolveUses } from "./statement.ts";
import type { Verdict } from "./verdict.ts";

/** At most so many requests in one statement. */
const maxBatch = 1_024;
/** At most so many batches at once. A third one would only wait for Postgres rather than here. */
const mostUnderWay = 2;
/** How long to leave alone what another transaction holds, in milliseconds. */
const blockedPauseMs = 10;
const sweepEveryMs = 100;

/**
 * The one step that verifies and counts a request.
 *
 * Group commit: while a batch is under way, requests that arrive wait, and the next batch takes them all. It leaves when
 * nothing is under way any more, or behind one batch, on the same connection, as soon as it is as large: so Postgres goes
 * from one to the next without waiting for the node. A request is answered when the transaction of its batch has
 * committed, so that there is no cache to invalidate and no buffer to lose.
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
  /** Those of them whose key the node did not know when they came. */
  #unknown = 0;
  #waiting: Waiter[] = [];
  /** Those of them that another transaction has held up, whether aside or back in the queue. */
  #held = 0;
  /** The batches that have left the queue, each until all of its requests are answered or wait again. */
  readonly #underWay = new Set<readonly Waiter[]>();
  /** Settles when the node is closed and nothing is under way any more. */
  readonly #ended = Promise.withResolvers<void>();
  /** Whether a batch leaves at the end of this synchronous run. */
  #isLeaving = false;
  /** Keys that were not counted when their turn came: their version had moved, or another transaction holds them. */
  readonly #apart = new Set<KeyId>();
  #isClosed = false;

  constructor(options: AdmissionOptions) {
    this.#link = new AdmissionLink(options.connection);
    this.#memory = new FactsMemory(options.maxRemembered ?? 200_000);
    this.#deadlineMs = options.deadlineMs ?? 1_500;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    this.#onStatement = options.onStatement ?? (() => undefined);
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  /**
   * Judges and counts one request with this token. The token may be anything that a caller sent.
   * @param demand what it wants beside a good key.
   * @param address where it comes from; a key that is held to ranges of addresses is refused without.
   */
  admit(token: string, demand?: Demand, address?: string): Promise<Verdict> {
    if (token.length !== apiKeyLength) return Promise.resolve(malformed);
    const digest = digestKey(token);
    const facts = this.#memory.recall(digest);
    // What is remembered was well-formed.
    if (!facts && !isWellFormedApiKey(token)) return Promise.resolve(malformed);
    // A refusal is never remembered: whoever is to be refused is looked up.
    const isAllowed = facts && judge(facts, { demand, address }).kind === "allowed";
    return this.#enqueue({ digest, demand, address, facts: isAllowed ? facts : undefined });
  }

  /** Whether requests can be admitted right now, found out by asking the database, also while very many wait. */
  async isAvailable(): Promise<boolean> {
    return !this.#isClosed && (await this.#wait(requestOfNoKey)).kind !== "unavailable";
  }

  /** Finishes the batches under way, answers "unavailable" to what waits, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#underWay.size > 0) await this.#ended.promise;
    clearInterval(this.#sweeper);
    for (const waiter of this.#waiting) this.#settle(waiter, unavailable);
    this.#waiting = [];
    await this.#link.close();
  }

  #enqueue(request: Incoming): Promise<Verdict> {
    if (this.#unanswered >= this.#maxWaiting || this.#isClosed) return Promise.resolve(unavailable);
    // Keys that a node does not know, forged ones among them, take no more than half of the room from those it knows.
    if (!request.facts && this.#unknown >= this.#maxWaiting / 2) return Promise.resolve(unavailable);
    return this.#wait(request);
  }

  #wait({ digest, demand, address, facts }: Incoming): Promise<Verdict> {
    this.#unanswered += 1;
    if (!facts) this.#unknown += 1;
    return new Promise((answer) => {
      this.#waiting.push({
        wasKnown: facts !== undefined,
        digest,
        demand,
        address,
        facts,
        arrivedAt: performance.now(),
        answer,
        wasHeld: false,
        isAnswered: false,
      });
      this.#proceed();
    });
  }

  /** Has the next batch leave, if it is its time. */
  #proceed(): void {
    if (this.#isLeaving || !this.#isTime()) return;
    this.#isLeaving = true;
    // Whoever asks in one synchronous run is counted together; what serves HTTP has a turn's requests ask in one.
    queueMicrotask(() => {
      this.#isLeaving = false;
      if (!this.#isClosed) void this.#serve(this.#waiting.splice(0, maxBatch));
    });
  }

  #isTime(): boolean {
    if (this.#waiting.length === 0 || this.#isClosed) return false;
    if (this.#underWay.size >= mostUnderWay) return false;
    const [ahead] = this.#underWay;
    // Smaller ones would take more statements for the same requests.
    return !ahead || this.#waiting.length >= ahead.length;
  }

  /**
   * Serves one batch. Never rejects: if anything throws, every request of the batch that has no verdict yet is answered
   * "unavailable", so that no request hangs, none occupies room in the queue forever, and the next batch leaves.
   */
  async #serve(waiters: readonly Waiter[]): Promise<void> {
    this.#underWay.add(waiters);
    try {
      // Connecting first, because a batch must not count requests that are answered while it waits for a connection.
      if (!this.#link.isConnected) await this.#link.connect();
      this.#giveUpLate(waiters);
      const { together, apart, later } = composeBatches(waiters, this.#apart);
      if (later.length > 0) this.#waiting = later.concat(this.#waiting);
      if (together.size > 0) await this.#count(together);
      if (apart.spending.size + apart.probing.size > 0) await this.#resolve(apart);
    } catch (error) {
      this.#fail(waiters, error);
    } finally {
      this.#underWay.delete(waiters);
      if (this.#isClosed && this.#underWay.size === 0) this.#ended.resolve();
      this.#proceed();
    }
  }

  /** Answers requests whose time is over. */
  #giveUpLate(waiters: readonly Waiter[]): void {
    const latest = performance.now() - this.#deadlineMs;
    for (const waiter of waiters) if (waiter.arrivedAt < latest) this.#settle(waiter, unavailable);
  }

  /** Counts what is remembered, and queues again what was not counted. */
  async #count(spending: Batch["spending"]): Promise<void> {
    try {
      const { uncounted, spent } = await this.#send({ spending, probing: new Map() }, countUses);
      const again: Waiter[] = [];
      for (const keyId of uncounted) {
        this.#apart.add(keyId);
        again.push(...(spending.get(keyId)?.waiters ?? []));
        spending.delete(keyId);
      }
      // They are no longer in `spending`, so they are queued before anything below can throw.
      if (again.length > 0) this.#waiting = again.concat(this.#waiting);
      for (const [keyId, counted] of spending) this.#admit(counted, spent.get(keyId));
    } catch (error) {
      const batch: Batch = { spending, probing: new Map() };
      // Nothing was changed, and nobody is told yet: past the locked rows it may go.
      if (isDefiniteAbort(error)) await this.#resolve(batch);
      else this.#fail(listWaiters(batch), error);
    }
  }

  /** Counts what can be counted past rows that others hold, and learns about the rest. */
  async #resolve(batch: Batch): Promise<void> {
    // While another statement was under way their time may have come.
    if (listWaiters(batch).every(({ isAnswered }) => isAnswered)) return;
    try {
      const firstUses = listFirstUses(batch.spending);
      const findings = await this.#send(batch, (client, asks, probes) =>
        resolveUses(client, { asks, probes, firstUses }),
      );
      this.#conclude(batch, findings);
    } catch (error) {
      // Rows are skipped, a whole table that somebody has locked is not.
      if (isDefiniteAbort(error)) this.#setAside(listWaiters(batch));
      else this.#fail(listWaiters(batch), error);
    }
  }

  #send<Result>(
    { spending, probing }: Batch,
    run: (client: pg.Client, asks: readonly Ask[], probes: readonly Probe[]) => Promise<Result>,
  ): Promise<Result> {
    const asks = listAsks(spending);
    const probes = Array.from(probing.values(), ({ probe }) => probe);
    return this.#link.use((client) => {
      this.#announce(asks.length, probes.length);
      return run(client, asks, probes);
    });
  }

  /** Tells the observer of a statement. An observer that throws must not fail the requests in it. */
  #announce(asks: number, probes: number): void {
    try {
      this.#onStatement({ asks, probes });
    } catch (error) {
      this.#report(error);
    }
  }

  #fail(waiters: readonly Waiter[], error: unknown): void {
    this.#report(error);
    for (const waiter of waiters) this.#settle(waiter, unavailable);
  }

  /** Reports a failure. A reporter that throws must not keep requests from being answered; Node warns of it instead. */
  #report(error: unknown): void {
    try {
      this.#onFailure(error);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  }

  /** Answers what is decided and queues the rest again: keys that have changed, and rows that were held. */
  #conclude({ spending, probing }: Batch, { uncounted, spent, probed }: Findings): void {
    const again: Waiter[] = [];
    for (const [keyId, counted] of spending) {
      const { facts, waiters } = counted;
      const why = uncounted.get(keyId);
      if (why && why.version === facts.version && !why.isOver) {
        this.#apart.add(keyId);
        this.#setAside(waiters);
        continue;
      }
      this.#apart.delete(keyId);
      if (!why) this.#admit(counted, spent.get(keyId));
      else for (const waiter of waiters) waiter.facts = undefined;
      again.push(...waiters.filter(({ isAnswered }) => !isAnswered));
    }
    let position = 0;
    for (const looked of probing.values()) {
      again.push(...this.#learn(probed[position], looked));
      position += 1;
    }
    this.#waiting = again.concat(this.#waiting);
  }

  /** Judges by facts that were read after these requests arrived; what is allowed must still be spent. */
  #learn(facts: KeyFacts | undefined, { probe: { digest }, waiters }: Probing): readonly Waiter[] {
    // That a secret is unused is true until its first use, on whichever node, and no version tells that it was.
    const isLasting = facts && !facts.isUnusedSecret && judgeKey(facts).kind === "allowed";
    if (isLasting) this.#memory.remember(digest, facts);
    else this.#memory.forget(digest);
    const presented = facts && presentedBy(facts, digest);
    return waiters.filter((waiter) => {
      const judgement = facts ? judge(facts, waiter) : unknown;
      if (judgement.kind === "refused") this.#settle(waiter, { ...judgement, presented });
      else waiter.facts = facts;
      return judgement.kind === "allowed";
    });
  }

  /**
   * Leaves requests alone for a moment, because another transaction holds what they need. Those that wait for others'
   * transactions take at most half of the room: the rest is for everybody else.
   */
  #setAside(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) {
      if (waiter.isAnswered || waiter.wasHeld) continue;
      if (this.#held >= Math.floor(this.#maxWaiting / 2)) {
        this.#settle(waiter, unavailable);
        continue;
      }
      waiter.wasHeld = true;
      this.#held += 1;
    }
    const kept = waiters.filter(({ isAnswered }) => !isAnswered);
    // To run with nobody waiting would end before it is noted as running, and stay noted for ever.
    if (kept.length === 0) return;
    setTimeout(() => {
      if (this.#isClosed) for (const waiter of kept) this.#settle(waiter, unavailable);
      else this.#waiting.push(...kept);
      this.#proceed();
    }, blockedPauseMs);
  }

  /** Tells requests that were counted, or that found nothing left of their key's limit. */
  #admit(counted: Spending, spent: Spent | undefined): void {
    answerCounted(counted, spent, (waiter, verdict) => this.#settle(waiter, verdict));
  }

  #settle(waiter: Waiter, verdict: Verdict): void {
    if (waiter.isAnswered) return;
    waiter.isAnswered = true;
    this.#unanswered -= 1;
    if (!waiter.wasKnown) this.#unknown -= 1;
    if (waiter.wasHeld) this.#held -= 1;
    waiter.answer(verdict);
  }

  /**
   * Holds the deadline of each request, whatever the database does, and breaks off a statement that takes longer than
   * that by itself. A request that has waited elsewhere before does not end the statement of all the others.
   */
  #sweep(): void {
    for (const waiters of this.#underWay) this.#giveUpLate(waiters);
    this.#giveUpLate(this.#waiting);
    this.#waiting = this.#waiting.filter((waiter) => !waiter.isAnswered);
    this.#link.dropIfSilentFor(this.#deadlineMs);
  }
}

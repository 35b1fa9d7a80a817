import type { KeyId } from "@latchkey/db/ids";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type pg from "pg";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { AdmissionConnection } from "./admission-connection.ts";
import { answerCounted, malformed, presentedBy, unavailable, unknownKey } from "./answer.ts";
import {
  type AdmissionRequest,
  type Batch,
  composeBatches,
  healthCheckRequest,
  type LookupGroup,
  listFirstUses,
  listIncrements,
  listRequests,
  type PendingRequest,
  type UsageGroup,
} from "./batch.ts";
import { checkKey, decide, type KeyFacts, type Requirement } from "./decision.ts";
import { FactsCache } from "./facts-cache.ts";
import type { LimitOutcome } from "./limit-window.ts";
import type { AdmissionOptions } from "./options.ts";
import { countUses, type Findings, type KeyLookup, resolveUses } from "./statement.ts";
import type { UsageIncrement } from "./usage-increment.ts";
import type { Verdict } from "./verdict.ts";

/** The most requests in one statement. */
const maxBatch = 1_024;
/** The most batches in flight. A third batch would wait in Postgres instead of in the queue, where it can still grow. */
const maxInFlight = 2;
/** Delay before requests whose rows another transaction locks are tried again, in milliseconds. */
const blockedRetryMs = 10;
const sweepEveryMs = 100;

/**
 * Verifies and counts a request in one step.
 *
 * Group commit: requests that arrive while a batch is in flight wait in the queue, and the next batch takes all of them.
 * It is sent when no batch is in flight, or behind one batch on the same connection as soon as it is as large as that
 * one, so that Postgres never waits for the node between two statements. A request is answered after the transaction of
 * its batch has committed, so there is no cache to invalidate and no buffered count to lose.
 */
export class Admission {
  readonly #connection: AdmissionConnection;
  readonly #cache: FactsCache;
  readonly #deadlineMs: number;
  readonly #maxWaiting: number;
  readonly #onStatement: NonNullable<AdmissionOptions["onStatement"]>;
  readonly #onFailure: NonNullable<AdmissionOptions["onFailure"]>;
  readonly #sweeper: NodeJS.Timeout;
  /** Requests without a verdict: queued, in flight or postponed. */
  #pendingCount = 0;
  /** Pending requests whose key this node did not remember when they arrived. */
  #unknownKeyCount = 0;
  #queue: PendingRequest[] = [];
  /** Pending requests whose row another transaction locked, whether postponed or queued again. */
  #blockedCount = 0;
  /** The batches that were taken from the queue, each until its requests are answered or queued again. */
  readonly #inFlight = new Set<readonly PendingRequest[]>();
  /** Resolves when the node is closed and no batch is in flight. */
  readonly #drained = Promise.withResolvers<void>();
  /** Whether a batch is sent at the end of this synchronous run. */
  #isDispatchScheduled = false;
  /** Keys that the last statement did not count, because their version had changed or another transaction locked their row. */
  readonly #isolatedKeys = new Set<KeyId>();
  #isClosed = false;

  constructor(options: AdmissionOptions) {
    this.#connection = new AdmissionConnection(options.connection);
    this.#cache = new FactsCache(options.maxCachedFacts ?? 200_000);
    this.#deadlineMs = options.deadlineMs ?? 1_500;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    this.#onStatement = options.onStatement ?? (() => undefined);
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  /**
   * Verifies and counts one request with this token. The token may be any string that a caller sent.
   * @param requirement the access that the request needs besides a valid key.
   * @param address the caller's IP address; a key that is restricted to IP ranges is rejected without one.
   */
  admit(token: string, requirement?: Requirement, address?: string): Promise<Verdict> {
    if (token.length !== apiKeyLength) return Promise.resolve(malformed);
    const digest = digestKey(token);
    const facts = this.#cache.get(digest);
    // Only well-formed keys are remembered.
    if (!facts && !isWellFormedApiKey(token)) return Promise.resolve(malformed);
    // Rejections are never remembered: a request that remembered facts reject is looked up.
    const isAllowed = facts && decide(facts, { requirement, address }).kind === "allowed";
    return this.#enqueue({ digest, requirement, address, facts: isAllowed ? facts : undefined });
  }

  /** Whether requests can be admitted now. Runs a lookup on the database, even if the queue is full. */
  async isAvailable(): Promise<boolean> {
    return !this.#isClosed && (await this.#addToQueue(healthCheckRequest)).kind !== "unavailable";
  }

  /** Finishes the batches in flight, answers "unavailable" to queued requests, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#inFlight.size > 0) await this.#drained.promise;
    clearInterval(this.#sweeper);
    for (const request of this.#queue) this.#settle(request, unavailable);
    this.#queue = [];
    await this.#connection.close();
  }

  #enqueue(request: AdmissionRequest): Promise<Verdict> {
    if (this.#pendingCount >= this.#maxWaiting || this.#isClosed) return Promise.resolve(unavailable);
    // Unknown keys, including forged ones, occupy at most half of the queue, so that they cannot crowd out known keys.
    if (!request.facts && this.#unknownKeyCount >= this.#maxWaiting / 2) return Promise.resolve(unavailable);
    return this.#addToQueue(request);
  }

  #addToQueue({ digest, requirement, address, facts }: AdmissionRequest): Promise<Verdict> {
    this.#pendingCount += 1;
    if (!facts) this.#unknownKeyCount += 1;
    return new Promise((answer) => {
      this.#queue.push({
        wasRemembered: facts !== undefined,
        digest,
        requirement,
        address,
        facts,
        arrivedAt: performance.now(),
        answer,
        wasBlocked: false,
        isAnswered: false,
      });
      this.#scheduleDispatch();
    });
  }

  /** Sends the next batch at the end of this synchronous run, if one may be sent. */
  #scheduleDispatch(): void {
    if (this.#isDispatchScheduled || !this.#canDispatch()) return;
    this.#isDispatchScheduled = true;
    // Requests of one synchronous run go into one batch; the HTTP server admits all requests of an event loop turn in one run.
    queueMicrotask(() => {
      this.#isDispatchScheduled = false;
      if (!this.#isClosed) void this.#dispatch(this.#queue.splice(0, maxBatch));
    });
  }

  #canDispatch(): boolean {
    if (this.#queue.length === 0 || this.#isClosed) return false;
    if (this.#inFlight.size >= maxInFlight) return false;
    const [ahead] = this.#inFlight;
    // Smaller batches would take more statements for the same requests.
    return !ahead || this.#queue.length >= ahead.length;
  }

  /**
   * Processes one batch. Never rejects: if anything throws, every request of the batch without a verdict is answered
   * "unavailable", so that no request hangs or occupies the queue forever, and the next batch is sent.
   */
  async #dispatch(requests: readonly PendingRequest[]): Promise<void> {
    this.#inFlight.add(requests);
    try {
      // Connects first: a batch must not count requests that are answered while it waits for a connection.
      if (!this.#connection.isConnected) await this.#connection.connect();
      this.#rejectOverdue(requests);
      const { known, isolated, deferred } = composeBatches(requests, this.#isolatedKeys);
      if (deferred.length > 0) this.#queue = deferred.concat(this.#queue);
      if (known.size > 0) await this.#count(known);
      if (isolated.usageGroups.size + isolated.lookupGroups.size > 0) await this.#resolve(isolated);
    } catch (error) {
      this.#fail(requests, error);
    } finally {
      this.#inFlight.delete(requests);
      if (this.#isClosed && this.#inFlight.size === 0) this.#drained.resolve();
      this.#scheduleDispatch();
    }
  }

  /** Answers "unavailable" to requests that are past their deadline. */
  #rejectOverdue(requests: readonly PendingRequest[]): void {
    const latest = performance.now() - this.#deadlineMs;
    for (const request of requests) if (request.arrivedAt < latest) this.#settle(request, unavailable);
  }

  /** Counts requests by remembered facts, and queues again those that were not counted. */
  async #count(usageGroups: Batch["usageGroups"]): Promise<void> {
    try {
      const { uncounted, limits } = await this.#send({ usageGroups, lookupGroups: new Map() }, countUses);
      const again: PendingRequest[] = [];
      for (const keyId of uncounted) {
        this.#isolatedKeys.add(keyId);
        again.push(...(usageGroups.get(keyId)?.requests ?? []));
        usageGroups.delete(keyId);
      }
      // They are no longer in `usageGroups`, so they are queued before anything below can throw.
      if (again.length > 0) this.#queue = again.concat(this.#queue);
      for (const [keyId, group] of usageGroups) this.#answerCounted(group, limits.get(keyId));
    } catch (error) {
      const batch: Batch = { usageGroups, lookupGroups: new Map() };
      // Nothing was changed and no request was answered, so the batch can be resolved past the locked rows.
      if (isDefiniteAbort(error)) await this.#resolve(batch);
      else this.#fail(listRequests(batch), error);
    }
  }

  /** Counts what can be counted without waiting for locked rows, and looks up the rest. */
  async #resolve(batch: Batch): Promise<void> {
    // Their deadline may have passed while another statement was in flight.
    if (listRequests(batch).every(({ isAnswered }) => isAnswered)) return;
    try {
      const firstUses = listFirstUses(batch.usageGroups);
      const findings = await this.#send(batch, (client, increments, lookups) =>
        resolveUses(client, { increments, lookups, firstUses }),
      );
      this.#applyFindings(batch, findings);
    } catch (error) {
      // The statement skips locked rows, but it waits for a locked table.
      if (isDefiniteAbort(error)) this.#postpone(listRequests(batch));
      else this.#fail(listRequests(batch), error);
    }
  }

  #send<Result>(
    { usageGroups, lookupGroups }: Batch,
    run: (
      client: pg.Client,
      increments: readonly UsageIncrement[],
      lookups: readonly KeyLookup[],
    ) => Promise<Result>,
  ): Promise<Result> {
    const increments = listIncrements(usageGroups);
    const lookups = Array.from(lookupGroups.values(), ({ lookup }) => lookup);
    return this.#connection.use((client) => {
      this.#notifyObserver(increments.length, lookups.length);
      return run(client, increments, lookups);
    });
  }

  /** Notifies the observer of a statement. An observer that throws must not fail the requests in the statement. */
  #notifyObserver(increments: number, lookups: number): void {
    try {
      this.#onStatement({ increments, lookups });
    } catch (error) {
      this.#reportFailure(error);
    }
  }

  #fail(requests: readonly PendingRequest[], error: unknown): void {
    this.#reportFailure(error);
    for (const request of requests) this.#settle(request, unavailable);
  }

  /** Reports a failure. A reporter that throws must not keep requests from being answered; its error becomes a process warning. */
  #reportFailure(error: unknown): void {
    try {
      this.#onFailure(error);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  }

  /** Answers the requests that are decided; queues those of changed keys again and postpones those of locked rows. */
  #applyFindings({ usageGroups, lookupGroups }: Batch, { uncounted, limits, found }: Findings): void {
    const again: PendingRequest[] = [];
    for (const [keyId, group] of usageGroups) {
      const { facts, requests } = group;
      const why = uncounted.get(keyId);
      if (why && why.version === facts.version && !why.isExpired) {
        this.#isolatedKeys.add(keyId);
        this.#postpone(requests);
        continue;
      }
      this.#isolatedKeys.delete(keyId);
      if (!why) this.#answerCounted(group, limits.get(keyId));
      else for (const request of requests) request.facts = undefined;
      again.push(...requests.filter(({ isAnswered }) => !isAnswered));
    }
    let position = 0;
    for (const group of lookupGroups.values()) {
      again.push(...this.#applyLookup(found[position], group));
      position += 1;
    }
    this.#queue = again.concat(this.#queue);
  }

  /** Judges requests by facts that were read after they arrived. Returns those that are allowed and must still be counted. */
  #applyLookup(
    facts: KeyFacts | undefined,
    { lookup: { digest }, requests }: LookupGroup,
  ): readonly PendingRequest[] {
    // A secret is unused until its first use on any node, and that use doesn't change the key's version.
    const isLasting = facts && !facts.isUnusedSecret && checkKey(facts).kind === "allowed";
    if (isLasting) this.#cache.set(digest, facts);
    else this.#cache.delete(digest);
    const presented = facts && presentedBy(facts, digest);
    return requests.filter((request) => {
      const decision = facts ? decide(facts, request) : unknownKey;
      if (decision.kind === "rejected") this.#settle(request, { ...decision, presented });
      else request.facts = facts;
      return decision.kind === "allowed";
    });
  }

  /**
   * Queues requests again after a short delay, because another transaction locks a row that they need. Such requests
   * occupy at most half of the queue; the rest of it is kept for other keys.
   */
  #postpone(requests: readonly PendingRequest[]): void {
    for (const request of requests) {
      if (request.isAnswered || request.wasBlocked) continue;
      if (this.#blockedCount >= Math.floor(this.#maxWaiting / 2)) {
        this.#settle(request, unavailable);
        continue;
      }
      request.wasBlocked = true;
      this.#blockedCount += 1;
    }
    const kept = requests.filter(({ isAnswered }) => !isAnswered);
    // An empty batch would finish before it is registered as in flight, and would stay registered forever.
    if (kept.length === 0) return;
    setTimeout(() => {
      if (this.#isClosed) for (const request of kept) this.#settle(request, unavailable);
      else this.#queue.push(...kept);
      this.#scheduleDispatch();
    }, blockedRetryMs);
  }

  /** Answers the requests of a group that was counted, or that exceeded the rate limit. */
  #answerCounted(group: UsageGroup, outcome: LimitOutcome | undefined): void {
    answerCounted(group, outcome, (request, verdict) => this.#settle(request, verdict));
  }

  #settle(request: PendingRequest, verdict: Verdict): void {
    if (request.isAnswered) return;
    request.isAnswered = true;
    this.#pendingCount -= 1;
    if (!request.wasRemembered) this.#unknownKeyCount -= 1;
    if (request.wasBlocked) this.#blockedCount -= 1;
    request.answer(verdict);
  }

  /**
   * Enforces the deadline of each request whatever the database does, and closes the connection when a single statement
   * takes longer than the deadline. A request that spent its time elsewhere doesn't cancel the statement of others.
   */
  #sweep(): void {
    for (const requests of this.#inFlight) this.#rejectOverdue(requests);
    this.#rejectOverdue(this.#queue);
    this.#queue = this.#queue.filter((request) => !request.isAnswered);
    this.#connection.dropIfSilentFor(this.#deadlineMs);
  }
}

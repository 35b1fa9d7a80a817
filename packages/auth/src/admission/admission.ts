import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type pg from "pg";
import { Isolation } from "../isolation.ts";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { AdmissionConnection } from "./admission-connection.ts";
import { answerCounted, malformed, presentedBy, unavailable, unknownKey } from "./answer.ts";
import {
  type AdmissionRequest,
  type Batch,
  composeBatches,
  healthCheckRequest,
  isHealthCheck,
  type LookupGroup,
  listFirstUses,
  listIncrements,
  listRequests,
  type PendingRequest,
  selectPending,
  type UsageGroup,
} from "./batch.ts";
import { countUses } from "./count-statement.ts";
import { checkKey, decide, type KeyFacts, type Requirement } from "./decision.ts";
import { FactsCache } from "./facts-cache.ts";
import { createFailureReporter } from "./failure-reporter.ts";
import type { LimitOutcome } from "./limit-window.ts";
import type { AdmissionOptions } from "./options.ts";
import { type Findings, type KeyLookup, resolveUses } from "./resolve-statement.ts";
import { Scheduler } from "./scheduler.ts";
import { admissionTimeouts } from "./timeouts.ts";
import type { UsageIncrement } from "./usage-increment.ts";
import type { Verdict } from "./verdict.ts";

/** The most statements in flight. A third one would wait in Postgres instead of in the queue, where it can still grow. */
const maxInFlight = 2;
/** The most requests in one batch. */
const maxBatch = 1_024;
/** Every request counts as one: admission limits only the number of a caller's requests. */
const requestSize = 1;

/**
 * Verifies and counts a request in one step.
 *
 * Group commit: the scheduler collects requests into batches. Admission decides what each request of a batch needs, counts
 * the batch in one statement, and looks up the keys that it could not count in a second one. A request is answered after
 * the transaction of its statement has committed, so that no count is lost. Remembered facts never admit a request alone: the
 * statement counts a use only if their versions are the current ones.
 */
export class Admission {
  readonly #connection: AdmissionConnection;
  readonly #cache: FactsCache;
  readonly #scheduler: Scheduler<PendingRequest>;
  readonly #onStatement: NonNullable<AdmissionOptions["onStatement"]>;
  readonly #reportFailure: (error: unknown, isHealthCheck: boolean) => void;
  /** How many connections were opened. */
  #epoch = 0;
  /**
   * Keys that were not counted, because their version had changed or another transaction locked their row. Until their row is found
   * unlocked, or for a second, only the second statement counts them, because it waits for no lock.
   */
  readonly #isolation = new Isolation();

  constructor(options: AdmissionOptions) {
    const timeouts = { ...admissionTimeouts, ...options };
    this.#cache = new FactsCache(options.maxCachedFacts ?? 200_000);
    // The database may have lost its latest changes: a standby was promoted, or a backup was restored. The next changes then
    // reuse the versions of the lost ones, and facts from before would seem current.
    this.#connection = new AdmissionConnection(options.connection, {
      applicationName: "latchkey admission",
      timeouts,
      onOpen: () => {
        this.#cache.invalidate();
        this.#epoch += 1;
      },
    });
    this.#onStatement = options.onStatement ?? (() => undefined);
    this.#reportFailure = createFailureReporter(options.onFailure);
    this.#scheduler = new Scheduler<PendingRequest>(
      {
        prepare: () => (this.#connection.isConnected ? undefined : this.#connection.connect()),
        execute: (requests) => this.#execute(requests),
        reject: (request) => request.answer(unavailable),
        report: (error, failed) => this.#reportFailure(error, failed.every(isHealthCheck)),
        cancelIfSilentFor: (milliseconds) => this.#connection.dropIfSilentFor(milliseconds),
      },
      {
        deadlineMs: timeouts.deadlineMs,
        maxPending: options.maxWaiting ?? 10_000,
        maxInFlight,
        maxBatch,
      },
    );
  }

  /**
   * Verifies and counts one request with this token. The token may be any string that a caller sent.
   * @param requirement the access that the request needs besides a valid key.
   * @param address the caller's IP address; a key that is restricted to IP ranges is rejected without one.
   * @param arrivedAt when the deadline of the request starts, by `performance.now()`.
   */
  admit(
    token: string,
    requirement?: Requirement,
    address?: string,
    arrivedAt = performance.now(),
  ): Promise<Verdict> {
    if (token.length !== apiKeyLength) return Promise.resolve(malformed);
    const digest = digestKey(token);
    const facts = this.#cache.get(digest);
    // Facts from before an invalidation don't decide, but the key and its user are known.
    const remembered = facts ?? this.#cache.peek(digest);
    // Only well-formed keys are remembered.
    if (!remembered && !isWellFormedApiKey(token)) return Promise.resolve(malformed);
    // Rejections are never remembered: a request that remembered facts reject is looked up.
    const isAllowed = facts && decide(facts, { requirement, address }).kind === "allowed";
    const isKnown = facts ? isAllowed === true : remembered !== undefined;
    const callerId = remembered?.userId ?? digest;
    // Unknown keys, including forged ones, occupy at most half of the queue, so that they cannot crowd out known keys.
    if (!this.#scheduler.hasRoom(callerId, requestSize, isKnown)) return Promise.resolve(unavailable);
    const request = { digest, requirement, address, facts: isAllowed ? facts : undefined, callerId };
    return this.#addToQueue(request, isKnown, arrivedAt);
  }

  /** Whether requests can be admitted now. Runs a lookup on the database, even if the queue is full. */
  async isAvailable(): Promise<boolean> {
    if (this.#scheduler.isClosed) return false;
    const verdict = await this.#addToQueue(healthCheckRequest, false, performance.now());
    return verdict.kind !== "unavailable";
  }

  /** Finishes the batches in flight, answers "unavailable" to queued requests, and closes the connection. */
  async close(): Promise<void> {
    await this.#scheduler.close();
    await this.#connection.close();
  }

  #addToQueue(
    { digest, requirement, address, facts, callerId }: AdmissionRequest,
    mayFillQueue: boolean,
    arrivedAt: number,
  ): Promise<Verdict> {
    return new Promise((answer) => {
      this.#scheduler.add({
        mayFillQueue,
        digest,
        requirement,
        address,
        facts,
        callerId,
        size: requestSize,
        callerTotal: undefined,
        epoch: this.#epoch,
        arrivedAt,
        answer,
        wasPostponed: false,
        isAnswered: false,
      });
    });
  }

  /**
   * Sends the statements of one batch. Most batches need only the statement that counts. An async function would add a
   * promise to each of them.
   */
  #execute(requests: readonly PendingRequest[]): Promise<void> | undefined {
    // Requests may have waited for this connection with facts from before it.
    for (const request of requests) {
      if (request.epoch === this.#epoch) continue;
      request.facts = undefined;
      request.epoch = this.#epoch;
    }
    this.#isolation.removeEnded(performance.now());
    const { known, isolated, deferred } = composeBatches(requests, this.#isolation);
    this.#scheduler.requeue(deferred);
    const hasIsolated = isolated.usageGroups.size + isolated.lookupGroups.size > 0;
    if (known.size === 0) return hasIsolated ? this.#resolve(isolated) : undefined;
    const counted = this.#count(known);
    return hasIsolated ? counted.then(() => this.#resolve(isolated)) : counted;
  }

  /** Counts requests by remembered facts, and queues again those that were not counted. */
  async #count(usageGroups: Batch["usageGroups"]): Promise<void> {
    try {
      const { uncounted, limits } = await this.#send({ usageGroups, lookupGroups: new Map() }, countUses);
      const uncountedRequests: PendingRequest[] = [];
      this.#isolation.add(uncounted, performance.now());
      for (const keyId of uncounted) {
        uncountedRequests.push(...(usageGroups.get(keyId)?.requests ?? []));
        usageGroups.delete(keyId);
      }
      // They are no longer in `usageGroups`, so they are queued before anything below can throw.
      this.#scheduler.requeue(uncountedRequests);
      for (const [keyId, group] of usageGroups) this.#answerCounted(group, limits.get(keyId));
    } catch (error) {
      const batch: Batch = { usageGroups, lookupGroups: new Map() };
      // Nothing was changed and no request was answered, so the batch can be resolved past the locked rows.
      if (isDefiniteAbort(error)) await this.#resolve(batch);
      else this.#scheduler.fail(listRequests(batch), error);
    }
  }

  /** Counts what can be counted without waiting for locked rows, and looks up the rest. */
  async #resolve(composed: Batch): Promise<void> {
    // Deadlines may have passed while another statement was in flight. An answered request must not use up a rate limit.
    const batch = selectPending(composed);
    const pending = listRequests(batch);
    if (pending.length === 0) return;
    // The connection broke while another statement was in flight. On the next one, their facts don't count.
    if (!this.#connection.isConnected || pending.some(({ epoch }) => epoch !== this.#epoch)) {
      this.#scheduler.requeue(pending);
      return;
    }
    try {
      const firstUses = listFirstUses(batch.usageGroups);
      const findings = await this.#send(batch, (client, increments, lookups) =>
        resolveUses(client, { increments, lookups, firstUses }),
      );
      this.#applyFindings(batch, findings);
    } catch (error) {
      // The statement skips locked rows, but it waits for a locked table.
      if (isDefiniteAbort(error)) this.#scheduler.postpone(listRequests(batch));
      else this.#scheduler.fail(listRequests(batch), error);
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
      this.#reportFailure(error, false);
    }
  }

  /** Answers the requests that are decided; queues those of changed keys again and postpones those of locked rows. */
  #applyFindings({ usageGroups, lookupGroups }: Batch, { uncounted, limits, found }: Findings): void {
    const unanswered: PendingRequest[] = [];
    for (const [keyId, group] of usageGroups) {
      const { requests } = group;
      const obstacle = uncounted.get(keyId);
      if (obstacle === "locked") {
        this.#isolation.add([keyId], performance.now());
        this.#scheduler.postpone(requests);
        continue;
      }
      this.#isolation.delete([keyId]);
      if (!obstacle) this.#answerCounted(group, limits.get(keyId));
      else for (const request of requests) request.facts = undefined;
      unanswered.push(...requests.filter(({ isAnswered }) => !isAnswered));
    }
    let position = 0;
    for (const group of lookupGroups.values()) {
      unanswered.push(...this.#applyLookup(found[position], group));
      position += 1;
    }
    this.#scheduler.requeue(unanswered);
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

  /** Answers the requests of a group that was counted, or that exceeded the rate limit. */
  #answerCounted(group: UsageGroup, outcome: LimitOutcome | undefined): void {
    answerCounted(group, outcome, (request, verdict) => this.#settle(request, verdict));
  }

  #settle(request: PendingRequest, verdict: Verdict): void {
    if (this.#scheduler.settle(request)) request.answer(verdict);
  }
}

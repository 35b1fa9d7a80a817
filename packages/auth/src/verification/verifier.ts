import type { WorkspaceId } from "@latchkey/db/ids";
import { isDefiniteAbort, isLockTimeout, isQueryCanceled } from "@latchkey/db/sqlstate";
import { verificationLimits } from "@latchkey/limits";
import type pg from "pg";
import { AdmissionConnection } from "../admission/admission-connection.ts";
import { createFailureReporter } from "../admission/failure-reporter.ts";
import type { AdmissionOptions } from "../admission/options.ts";
import { type PendingState, Scheduler } from "../admission/scheduler.ts";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { isUnmetered } from "./assumed-state.ts";
import { chooseBatch } from "./choose-batch.ts";
import { ClockEstimate } from "./clock-estimate.ts";
import { type CounterId, listCounterIds } from "./decide-verification.ts";
import { Isolation } from "./isolation.ts";
import { type FoundRequest, KeyDirectory } from "./key-directory.ts";
import { PendingOfCallers } from "./pending-of-callers.ts";
import {
  countBatch,
  type DecidedBatch,
  type PreparedRequest,
  RolledBack,
  rollBack,
  spendBatch,
} from "./spend-batch.ts";
import { splitOnFailure } from "./split-on-failure.ts";
import { TaskQueue } from "./task-queue.ts";
import type { Verification, VerificationOutcome, VerificationRequest } from "./verification.ts";
import { toAnswer, type VerifierAnswer, withoutOutcome } from "./verifier-answer.ts";

interface PendingVerification extends PendingState, VerificationRequest {
  /** SHA-256 of the caller's key, in base64; undefined for a caller without a key. */
  readonly digest: string | undefined;
  /** The user who calls; the digest while that isn't known. */
  readonly caller: string;
  /** How many keys, with the caller's, were not remembered when the request arrived. */
  readonly lookupCount: number;
  /** Whether it only finds the caller's key: it is answered without being counted. */
  readonly isProbe: boolean;
  readonly answer: (answer: VerifierAnswer) => void;
  /** Whether its facts had changed when it was decided. */
  wasOutdated: boolean;
}

export interface VerifierOptions extends AdmissionOptions {
  /** The most verifications with a new `Idempotency-Key` that an API key can request per hour. */
  readonly maxNamedPerHour?: number;
}

/** The answer to a lookup whose key exists. It is another object than the answer of a full queue or without a database. */
const recognized: VerifierAnswer = { ...withoutOutcome.unavailable };

type FoundVerification = FoundRequest<PendingVerification> & PreparedRequest;

/** A count that takes longer, in milliseconds, has waited for locks: its own, or those of the transaction ahead. */
const maxCountMs = 150;
/** The most pending requests. */
const maxPending = 2_000;
/**
 * The most pending verifications of one user, so that their requests don't fill the memory. It is enough for 256 connections with
 * 100 each, and for the requests of as many connections that were closed before their responses.
 */
const maxPendingOfCaller = 60_000;
/** The most transactions per batch: enough to find three requests that make a batch fail. */
const maxRuns = 64;
/** The most additional transactions per batch for requests of isolated keys, which delay all others. */
const maxIsolatedRuns = 32;
/** How long requests of isolated keys wait for a lock, in milliseconds, and how often they wait at all. */
const isolatedWaitMs = 25;
const isolatedWaitEveryMs = 100;
/** Postgres cancels a statement after this time, in milliseconds, which leaves time to retry before the deadline. */
const statementTimeoutMs = 700;

/**
 * Admits requests that verify issued keys. The use of the caller's key and the costs of the verified keys are counted in one
 * transaction, which locks the counters, decides all requests of a batch in order, and writes the counters back. Requests without
 * meters are decided before, and counted by one statement (docs/decisions/0069).
 *
 * It has a queue and a connection of its own: other statements on the connection would become part of its transactions
 * (docs/decisions/0058). A second batch is sent behind one that is only counted (docs/decisions/0075).
 */
export class Verifier {
  readonly #connection: AdmissionConnection;
  readonly #keys: KeyDirectory<PendingVerification>;
  readonly #scheduler: Scheduler<PendingVerification>;
  readonly #maxNamedPerHour: number;
  readonly #maxPending: number;
  readonly #reportFailure: (error: unknown) => void;
  /** What requests that failed alone were about, and what was locked. */
  readonly #isolation = new Isolation();
  readonly #clock = new ClockEstimate();
  /** What is sent on the connection: each task sends one transaction or lookup, and ends when the next one may be sent. */
  readonly #sending = new TaskQueue();
  /** Transactions in flight that only count. */
  #counting = 0;
  /** When it last waited for locks of isolated keys, by `performance.now()`. */
  #waitedForIsolatedAt = 0;
  readonly #pendingOfCallers = new PendingOfCallers(maxPendingOfCaller);

  constructor({ maxNamedPerHour = verificationLimits.maxIdempotentPerHour, ...options }: VerifierOptions) {
    this.#maxNamedPerHour = maxNamedPerHour;
    this.#maxPending = options.maxWaiting ?? maxPending;
    this.#keys = new KeyDirectory(options.maxCachedFacts ?? 200_000);
    // A database that lost its latest changes reuses their versions, so that facts from before would seem current.
    this.#connection = new AdmissionConnection(options.connection, {
      applicationName: "latchkey verification",
      statementTimeoutMs,
      onOpen: () => this.#keys.invalidate(),
    });
    this.#reportFailure = createFailureReporter(options.onFailure);
    this.#scheduler = new Scheduler<PendingVerification>(
      {
        prepare: () => (this.#connection.isConnected ? undefined : this.#connection.connect()),
        execute: (requests) => this.#execute(requests),
        choose: (requests) => chooseBatch(requests.filter(({ isAnswered }) => !isAnswered)),
        // Other transactions lock counters until the node has decided, and nothing may be sent in between.
        mayFollow: () => this.#counting > 0,
        reject: (request) => request.answer(withoutOutcome.unavailable),
        report: this.#reportFailure,
        cancelIfSilentFor: (milliseconds) => this.#connection.dropIfSilentFor(milliseconds),
      },
      {
        deadlineMs: options.deadlineMs ?? 1_500,
        maxPending: this.#maxPending,
        maxInFlight: 2,
        // Each batch is chosen from all pending requests.
        maxBatch: this.#maxPending,
      },
    );
  }

  /**
   * Whether a token is a key that the database knows, which is read without counting a use. Callers read the body of a request
   * only then, so that a forged key costs one lookup. Returns no promise for a key that is remembered.
   */
  recognizes(token: string): boolean | Promise<boolean> {
    const digest = this.#digestPossibleKey(token);
    if (digest === undefined || this.#keys.hasApiKey(digest)) return digest !== undefined;
    const probe = { address: undefined, verifications: [], name: undefined };
    return this.#enqueue({ ...probe, ...this.#identify(digest), isProbe: true }).then(
      (answer) => answer === recognized,
    );
  }

  /**
   * Admits a request with this token, and verifies keys for it. A rejected or rate limited caller spends nothing. The token
   * may be any string that a caller sent.
   */
  verify(token: string, request: VerificationRequest): Promise<VerifierAnswer> {
    const digest = this.#digestPossibleKey(token);
    if (digest === undefined) return Promise.resolve(withoutOutcome.malformed);
    return this.#enqueue({ ...request, ...this.#identify(digest), isProbe: false });
  }

  /**
   * Verifies a key for a caller without an API key, in one workspace. Call it only for the operator, or after a check that was
   * made when the request had arrived: the member may verify keys in the workspace.
   * @param caller the ID of the member, or another name.
   * @returns undefined if the database is unavailable, or too many verifications are pending.
   */
  async verifyWithoutKey(
    caller: string,
    verification: Verification & { readonly workspaceId: WorkspaceId },
  ): Promise<VerificationOutcome | undefined> {
    const request = { address: undefined, verifications: [verification], name: undefined };
    const { outcome } = await this.#enqueue({ ...request, digest: undefined, caller, isProbe: false });
    return outcome;
  }

  #identify(digest: string): Pick<PendingVerification, "digest" | "caller"> {
    return { digest, caller: this.#keys.ownerOf(digest) ?? digest };
  }

  /** The digest of a token that can be a key. Only well-formed keys are remembered. */
  #digestPossibleKey(token: string): string | undefined {
    if (token.length !== apiKeyLength) return undefined;
    const digest = digestKey(token);
    return this.#keys.hasApiKey(digest) || isWellFormedApiKey(token) ? digest : undefined;
  }

  #enqueue(
    request: VerificationRequest & Pick<PendingVerification, "digest" | "caller" | "isProbe">,
  ): Promise<VerifierAnswer> {
    const { caller } = request;
    // Requests with an unknown key, the caller's or one to verify, occupy at most half of the queue, so that forged keys can't
    // crowd out known ones.
    const lookupCount = this.#keys.countLookups(request);
    const isKnown = lookupCount === 0;
    // Half of the queue is left for other users, and so is half of the places for unknown keys.
    const maxRequests = this.#maxPending / (isKnown ? 2 : 4);
    const verifications = request.verifications.length;
    const remove = this.#scheduler.hasRoom(isKnown)
      ? this.#pendingOfCallers.add(caller, { verifications, maxRequests })
      : undefined;
    if (!remove) return Promise.resolve(withoutOutcome.unavailable);
    return new Promise((answer) => {
      this.#scheduler.add({
        ...request,
        answer: (verdict) => {
          remove();
          answer(verdict);
        },
        mayFillQueue: isKnown,
        lookupCount,
        arrivedAt: performance.now(),
        wasPostponed: false,
        wasOutdated: false,
        isAnswered: false,
      });
    });
  }

  /** Finishes the batch in flight, answers "unavailable" to queued requests, and closes the connection. */
  async close(): Promise<void> {
    await this.#scheduler.close();
    await this.#connection.close();
  }

  async #execute(requests: readonly PendingVerification[]): Promise<void> {
    const chosen = requests.filter(({ isAnswered }) => !isAnswered);
    if (chosen.length === 0) return;
    const isolated = new Set(
      this.#isolation.isEmpty(performance.now())
        ? []
        : chosen.filter(({ digest }) => digest !== undefined && this.#isolation.has(digest)),
    );
    await this.#connection.use(async (client) => {
      // The others are answered first, because requests of isolated keys may fail or find their rows locked.
      this.#scheduler.requeue(await this.#decideOthers(client, chosen, isolated));
      this.#scheduler.requeue(await this.#decideIsolated(client, [...isolated]));
    });
  }

  /**
   * Decides requests, except those of isolated keys, which it adds to `isolated`. If a counter is locked for too long, decides
   * past the locked rows. @returns the requests that it did not get to.
   */
  #decideOthers(
    client: pg.Client,
    requests: readonly PendingVerification[],
    isolated: Set<PendingVerification>,
  ): Promise<readonly PendingVerification[]> {
    // Waiting for locks once is enough.
    let skipsLocked = false;
    return splitOnFailure(requests, {
      run: async (part) => {
        const found = await this.#prepare(client, part);
        const isIsolated = this.#createIsolationCheck();
        for (const request of found) if (isIsolated(request)) isolated.add(request.pending);
        const prepared = found.filter(({ pending }) => !isolated.has(pending));
        if (skipsLocked || !(await this.#spendWaiting(client, prepared))) {
          skipsLocked = true;
          await this.#spend(client, prepared, { skipsLocked, isolatesLocked: true });
        }
      },
      isPending: (request) => !request.isAnswered && !isolated.has(request),
      hadNoEffect: (error) => error instanceof RolledBack,
      fail: (part, error) => this.#fail(part, error),
      maxRuns,
    });
  }

  /**
   * Decides requests of isolated keys. It waits for locks only briefly and now and then, so that another node that uses the same
   * keys can't keep this one from them. @returns the requests that it did not get to.
   */
  async #decideIsolated(
    client: pg.Client,
    requests: readonly PendingVerification[],
  ): Promise<readonly PendingVerification[]> {
    if (!this.#connection.isConnected) return requests;
    return await splitOnFailure(requests, {
      run: async (part) => {
        const prepared = await this.#prepare(client, part);
        const waits = performance.now() - this.#waitedForIsolatedAt >= isolatedWaitEveryMs;
        if (waits) {
          const isDecided = await this.#spendWaiting(client, prepared, isolatedWaitMs);
          this.#waitedForIsolatedAt = performance.now();
          if (isDecided) {
            for (const request of prepared)
              this.#isolation.delete([...listCounterIds(request), ...listWorkspaceIds(request)]);
            return;
          }
        }
        await this.#spend(client, prepared, { skipsLocked: true, isolatesLocked: waits });
      },
      isPending: ({ isAnswered }) => !isAnswered,
      hadNoEffect: (error) => error instanceof RolledBack,
      fail: (part, error) => this.#fail(part, error),
      maxRuns: maxIsolatedRuns,
    });
  }

  /**
   * Decides requests, and waits for locked counters. Returns false if a lock or a statement took too long: requests without
   * meters can have been answered, and nothing was decided about the others.
   */
  async #spendWaiting(
    client: pg.Client,
    requests: readonly FoundVerification[],
    lockTimeoutMs?: number,
  ): Promise<boolean> {
    try {
      await this.#spend(client, requests, { skipsLocked: false, lockTimeoutMs });
      return true;
    } catch (error) {
      if (error instanceof RolledBack && (isDefiniteAbort(error.cause) || isQueryCanceled(error.cause)))
        return false;
      throw error;
    }
  }

  #createIsolationCheck(): (request: FoundVerification) => boolean {
    if (this.#isolation.isEmpty(performance.now())) return () => false;
    return (request) =>
      [...listCounterIds(request), ...listWorkspaceIds(request)].some((name) => this.#isolation.has(name));
  }

  #fail(requests: readonly PendingVerification[], error: unknown): void {
    const cause = error instanceof RolledBack ? error.cause : error;
    // It waited for a locked table or for a row that is not a counter.
    if (error instanceof RolledBack && isLockTimeout(cause)) this.#scheduler.postpone(requests);
    else this.#scheduler.fail(requests, cause);
  }

  /** Finds the keys of requests. Answers those of unknown callers, and those that only ask for it. */
  #prepare(
    client: pg.Client,
    requests: readonly PendingVerification[],
  ): Promise<readonly FoundVerification[]> {
    return this.#sending.run(async () => {
      // Their deadline may have passed while the transactions ahead were in flight.
      const pending = requests.filter(({ isAnswered }) => !isAnswered);
      return pending.length > 0 ? await this.#find(client, pending) : [];
    });
  }

  async #find(
    client: pg.Client,
    requests: readonly PendingVerification[],
  ): Promise<readonly FoundVerification[]> {
    try {
      const { found, unknown } = await this.#keys.find(client, requests);
      for (const request of unknown) this.#settle(request, withoutOutcome.unknownKey);
      for (const { pending } of found) if (pending.isProbe) this.#settle(pending, recognized);
      return found
        .filter(({ pending }) => !pending.isAnswered)
        .map((request) => ({ ...request, name: request.pending.name }));
    } catch (error) {
      if (requests.length === 1) this.#isolate(requests.flatMap(({ digest }) => digest ?? []));
      throw await rollBack(client, error);
    }
  }

  /** Decides requests, and answers them after the commit. */
  async #spend(
    client: pg.Client,
    requests: readonly FoundVerification[],
    options: {
      readonly skipsLocked: boolean;
      readonly lockTimeoutMs?: number | undefined;
      /** Whether to isolate keys with locked counters: they were locked for some time. */
      readonly isolatesLocked?: boolean;
    },
  ): Promise<void> {
    const { lockTimeoutMs, isolatesLocked = false } = options;
    let { skipsLocked } = options;
    const listPending = () => requests.filter((request) => !request.pending.isAnswered);
    let pending = listPending();
    if (pending.length === 0) return;
    try {
      if (!skipsLocked && lockTimeoutMs === undefined) {
        const countedInMs = await this.#count(client, listPending);
        pending = listPending();
        if (pending.length === 0) return;
        // Its deadline allows a batch to wait for locks once.
        skipsLocked = countedInMs > maxCountMs;
      }
      const batch = await this.#sending.run(async () => {
        // Their deadline may have passed while the transactions ahead were in flight.
        pending = listPending();
        if (pending.length === 0) return undefined;
        return await spendBatch(client, pending, {
          skipsLocked,
          lockTimeoutMs,
          maxNamedPerHour: this.#maxNamedPerHour,
        });
      });
      if (!batch) return;
      const { decided, counters, firstUsed, now } = batch;
      if (counters.size > 0) this.#clock.set(now);
      if (firstUsed.size > 0)
        for (const { request } of decided) this.#keys.forgetFirstUsed(request, firstUsed);
      this.#answer(decided, { isLocked: (id) => skipsLocked && !counters.has(id), isolatesLocked });
    } catch (error) {
      // It failed alone. A lock that takes too long is not the fault of the request.
      const isLocked = error instanceof RolledBack && isDefiniteAbort(error.cause);
      if (pending.length === 1 && !(isLocked && !skipsLocked)) this.#isolate(pending.flatMap(listCounterIds));
      throw error;
    }
  }

  /**
   * Decides the requests without meters, unless facts have changed, and answers them after the commit.
   * @returns how long the transaction took, in milliseconds, without the wait until it was sent.
   */
  async #count(client: pg.Client, listPending: () => readonly FoundVerification[]): Promise<number> {
    if (this.#clock.estimate() === undefined || !hasUnmetered(listPending())) return 0;
    this.#counting += 1;
    try {
      // The next transaction may be sent before this one ends, because all of it has been sent.
      const { sent, startedAt } = await this.#sending.run(async () => {
        // While it waited for the transactions ahead, deadlines may have passed, and the time has changed.
        const now = this.#clock.estimate() ?? 0;
        return { sent: countBatch(client, listPending(), now), startedAt: performance.now() };
      });
      // Requests may have arrived while the batch was prepared.
      this.#scheduler.dispatchFollowing();
      const batch = await sent;
      if (batch) {
        this.#clock.set(batch.now);
        this.#answer(batch.decided, { isLocked: () => false, isolatesLocked: false });
      }
      return performance.now() - startedAt;
    } finally {
      this.#counting -= 1;
    }
  }

  #answer(
    decided: DecidedBatch<FoundVerification>["decided"],
    {
      isLocked,
      isolatesLocked,
    }: { readonly isLocked: (id: CounterId) => boolean; readonly isolatesLocked: boolean },
  ): void {
    const outdated: PendingVerification[] = [];
    const postponed: PendingVerification[] = [];
    for (const { request, decision } of decided) {
      const { pending } = request;
      if (decision.kind !== "outdated")
        this.#settle(pending, toAnswer(request.caller, pending.digest, decision));
      else {
        this.#keys.forget(pending);
        // A counter that is missing while locked ones are skipped may also have been deleted.
        const locked = listCounterIds(request).filter(isLocked);
        // A change of many keys can lock one after the other, so the whole workspace is isolated.
        if (isolatesLocked && locked.length > 0)
          this.#isolate([...locked, ...listWorkspaceIds(request, isLocked)]);
        // Facts that are outdated twice change often, and must not keep the database busy.
        if (locked.length > 0 || pending.wasOutdated) postponed.push(pending);
        else outdated.push(pending);
        pending.wasOutdated = true;
      }
    }
    this.#scheduler.requeue(outdated.filter(({ isAnswered }) => !isAnswered));
    if (postponed.length > 0) this.#scheduler.postpone(postponed);
  }

  #isolate(names: Iterable<string>): void {
    this.#isolation.add(names, performance.now());
  }

  #settle(request: PendingVerification, answer: VerifierAnswer): void {
    if (this.#scheduler.settle(request)) request.answer(answer);
  }
}

/** Whether a batch has a request that can be counted. @throws {RolledBack} if a request can't be decided. Nothing was sent. */
function hasUnmetered(requests: readonly FoundVerification[]): boolean {
  try {
    return requests.some(isUnmetered);
  } catch (error) {
    throw new RolledBack(error);
  }
}

/** The workspaces of the keys that a request verifies, or of those with a counter that meets a condition. */
function listWorkspaceIds(
  { targets }: Pick<FoundVerification, "targets">,
  condition: (id: CounterId) => boolean = () => true,
): WorkspaceId[] {
  return targets.flatMap((facts) => {
    if (!facts) return [];
    const { keyId, consumer, workspaceId } = facts;
    return condition(keyId) || (consumer && condition(consumer.id)) ? [workspaceId] : [];
  });
}

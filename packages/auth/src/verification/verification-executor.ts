import { isDefiniteAbort, isLockTimeout, isQueryCanceled } from "@latchkey/db/sqlstate";
import type pg from "pg";
import type { AdmissionConnection } from "../admission/admission-connection.ts";
import type { Scheduler } from "../admission/scheduler.ts";
import { Isolation } from "../isolation.ts";
import { BatchTransactions } from "./batch-transactions.ts";
import { listIsolationNames } from "./isolation-names.ts";
import type { KeyDirectory } from "./key-directory.ts";
import type { FoundVerification, PendingVerification } from "./pending-verification.ts";
import { type LockPolicy, RolledBack } from "./spend-batch.ts";
import { splitOnFailure } from "./split-on-failure.ts";

/** The most transactions per batch: enough to find three requests that make a batch fail. */
const maxRuns = 64;
/** The most additional transactions per batch for requests of isolated keys, which delay all others. */
const maxIsolatedRuns = 32;
/** How requests of isolated keys wait for locks, and how often they wait at all, in milliseconds. */
const waitBriefly = { kind: "wait-briefly", timeoutMs: 25 } as const satisfies LockPolicy;
const isolatedWaitEveryMs = 100;

interface VerificationExecutorOptions {
  readonly connection: AdmissionConnection;
  readonly scheduler: Scheduler<PendingVerification>;
  readonly keys: KeyDirectory<PendingVerification>;
  readonly maxNamedPerHour: number;
}

/**
 * Executes batches so that neither a locked counter nor a request that always fails keeps the other requests from an answer: it
 * waits for locks once, then skips locked rows; splits a batch that fails; and decides requests of isolated keys last
 * (docs/decisions/0062).
 */
export class VerificationExecutor {
  readonly #connection: AdmissionConnection;
  readonly #scheduler: Scheduler<PendingVerification>;
  readonly #isolation = new Isolation();
  readonly #transactions: BatchTransactions;
  /** When it last waited for locks of isolated keys, by `performance.now()`. */
  #waitedForIsolatedAt = 0;

  constructor({ connection, scheduler, keys, maxNamedPerHour }: VerificationExecutorOptions) {
    this.#connection = connection;
    this.#scheduler = scheduler;
    this.#transactions = new BatchTransactions({
      keys,
      scheduler,
      isolation: this.#isolation,
      maxNamedPerHour,
    });
  }

  /** Whether a second batch may be executed. Nothing may be sent into a transaction that waits for the node's decision. */
  get mayFollow(): boolean {
    return this.#transactions.isCounting;
  }

  /** Executes a batch. When it ends, each request is answered, queued again or postponed, unless it throws. */
  async execute(requests: readonly PendingVerification[]): Promise<void> {
    const chosen = requests.filter(({ isAnswered }) => !isAnswered);
    if (chosen.length === 0) return;
    this.#isolation.removeEnded(performance.now());
    const isolated = new Set(
      chosen.filter(({ digest }) => digest !== undefined && this.#isolation.has(digest)),
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
    // The deadline allows a batch to wait for locks once.
    let waitsForLocks = true;
    return splitOnFailure(requests, {
      run: async (part) => {
        const all = await this.#transactions.find(client, part);
        const isIsolated = this.#createIsolationCheck();
        for (const request of all) if (isIsolated(request)) isolated.add(request.pending);
        const found = all.filter(({ pending }) => !isolated.has(pending));
        if (waitsForLocks && (await this.#decideWaiting(client, found, { kind: "wait" }))) return;
        waitsForLocks = false;
        await this.#transactions.decide(client, found, { kind: "skip", isolatesSkipped: true });
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
        const found = await this.#transactions.find(client, part);
        const waits = performance.now() - this.#waitedForIsolatedAt >= isolatedWaitEveryMs;
        if (waits) {
          const isDecided = await this.#decideWaiting(client, found, waitBriefly);
          this.#waitedForIsolatedAt = performance.now();
          if (isDecided) {
            for (const request of found) this.#isolation.delete(listIsolationNames(request));
            return;
          }
        }
        await this.#transactions.decide(client, found, { kind: "skip", isolatesSkipped: waits });
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
  async #decideWaiting(
    client: pg.Client,
    requests: readonly FoundVerification[],
    locks: Exclude<LockPolicy, { kind: "skip" }>,
  ): Promise<boolean> {
    try {
      await this.#transactions.decide(client, requests, locks);
      return true;
    } catch (error) {
      if (error instanceof RolledBack && (isDefiniteAbort(error.cause) || isQueryCanceled(error.cause)))
        return false;
      throw error;
    }
  }

  #createIsolationCheck(): (request: FoundVerification) => boolean {
    this.#isolation.removeEnded(performance.now());
    if (this.#isolation.isEmpty) return () => false;
    return (request) => listIsolationNames(request).some((name) => this.#isolation.has(name));
  }

  #fail(requests: readonly PendingVerification[], error: unknown): void {
    const cause = error instanceof RolledBack ? error.cause : error;
    // It waited for a locked table or for a row that is not a counter.
    if (error instanceof RolledBack && isLockTimeout(cause)) this.#scheduler.postpone(requests);
    else this.#scheduler.fail(requests, cause);
  }
}

import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type pg from "pg";
import type { Scheduler } from "../admission/scheduler.ts";
import type { Isolation } from "../isolation.ts";
import { isUnmetered } from "./assumed-state.ts";
import { ClockEstimate } from "./clock-estimate.ts";
import { listCounterIds } from "./decide-request.ts";
import type { CounterId } from "./decide-verification.ts";
import { listWorkspaceIds } from "./isolation-names.ts";
import type { KeyDirectory } from "./key-directory.ts";
import type { FoundVerification, PendingVerification } from "./pending-verification.ts";
import {
  countBatch,
  type DecidedBatch,
  type LockPolicy,
  RolledBack,
  rollBack,
  spendBatch,
} from "./spend-batch.ts";
import { TaskQueue } from "./task-queue.ts";
import { recognized, toAnswer, type VerifierAnswer, withoutOutcome } from "./verifier-answer.ts";

/** A count that takes longer, in milliseconds, has waited for locks: its own, or those of the transaction ahead. */
const maxCountMs = 150;

interface BatchTransactionsOptions {
  readonly keys: KeyDirectory<PendingVerification>;
  readonly scheduler: Scheduler<PendingVerification>;
  /** Where keys are added whose requests failed alone or whose counters were locked, and users whose names were claimed. */
  readonly isolation: Isolation;
  readonly maxNamedPerHour: number;
}

/**
 * Sends the lookups and transactions of batches, and answers their requests. Two batches may be executed concurrently: what they
 * send on the connection goes through one queue, so that nothing becomes part of another batch's transaction
 * (docs/decisions/0075).
 */
export class BatchTransactions {
  readonly #keys: KeyDirectory<PendingVerification>;
  readonly #scheduler: Scheduler<PendingVerification>;
  readonly #isolation: Isolation;
  readonly #maxNamedPerHour: number;
  readonly #clock = new ClockEstimate();
  /** Each task sends one transaction or lookup, and ends when the next one may be sent. */
  readonly #sending = new TaskQueue();
  /** Transactions in flight that only count. */
  #counting = 0;

  constructor({ keys, scheduler, isolation, maxNamedPerHour }: BatchTransactionsOptions) {
    this.#keys = keys;
    this.#scheduler = scheduler;
    this.#isolation = isolation;
    this.#maxNamedPerHour = maxNamedPerHour;
  }

  /** Whether a transaction that only counts is in flight. It doesn't wait for the node, so another one may be sent behind it. */
  get isCounting(): boolean {
    return this.#counting > 0;
  }

  /**
   * Finds the keys of requests. Answers requests of unknown callers, and requests that only look up the caller's key.
   * @throws {RolledBack} if it failed, and the connection can be used again.
   */
  find(client: pg.Client, requests: readonly PendingVerification[]): Promise<readonly FoundVerification[]> {
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
      for (const { pending } of found) if (pending.isLookupOnly) this.#settle(pending, recognized);
      return found
        .filter(({ pending }) => !pending.isAnswered)
        .map((request) => ({ ...request, name: request.pending.name }));
    } catch (error) {
      if (requests.length === 1) this.#isolate(requests.flatMap(({ digest }) => digest ?? []));
      throw await rollBack(client, error);
    }
  }

  /**
   * Decides requests, and answers them after the commit. Those whose facts have changed are queued again or postponed, and
   * those with a counter or a user that was skipped are postponed. A batch that waits as long as the session allows first counts its
   * requests without meters (see {@link countBatch}).
   * @throws {RolledBack} if a transaction had no effect. Requests without meters can have been answered before.
   */
  async decide(client: pg.Client, requests: readonly FoundVerification[], policy: LockPolicy): Promise<void> {
    let locks = policy;
    let wasNotCounted = false;
    const isPending = (request: FoundVerification) => !request.pending.isAnswered;
    const listPending = () => requests.filter(isPending);
    let pending = listPending();
    if (pending.length === 0) return;
    try {
      if (locks.kind === "wait") {
        const { tookMs, isOutdated } = await this.#count(client, listPending);
        pending = listPending();
        if (pending.length === 0) return;
        // Its deadline allows a batch to wait for locks once.
        if (tookMs > maxCountMs) locks = { kind: "skip", isolatesSkipped: false };
        wasNotCounted = isOutdated;
      }
      const batch = await this.#sending.run(async () => {
        // Their deadline may have passed while the transactions ahead were in flight.
        pending = listPending();
        if (pending.length === 0) return undefined;
        return await spendBatch(client, pending, {
          locks,
          maxNamedPerHour: this.#maxNamedPerHour,
          isPending,
          wasNotCounted,
        });
      });
      if (!batch) return;
      if (batch.counters.size > 0) this.#clock.set(batch.now);
      for (const { request, decision } of batch.decided)
        if (decision.kind === "admitted") this.#keys.rememberFirstUses(request, batch);
      this.#answer(batch, locks);
    } catch (error) {
      // The request failed alone, unless it only waited too long for a lock: the transaction with the lock caused that.
      const hasWaited = locks.kind !== "skip" && error instanceof RolledBack && isDefiniteAbort(error.cause);
      if (pending.length === 1 && !hasWaited) this.#isolate(pending.flatMap(listCounterIds));
      throw error;
    }
  }

  /**
   * Decides the requests without meters, unless facts have changed, and answers them after the commit.
   * @returns how long the transaction took, in milliseconds, without the wait until it was sent, and whether it counted nothing
   *   because facts have changed.
   */
  async #count(
    client: pg.Client,
    listPending: () => readonly FoundVerification[],
  ): Promise<{ readonly tookMs: number; readonly isOutdated: boolean }> {
    const estimate = this.#clock.estimate();
    if (estimate === undefined || !hasUnmetered(listPending(), estimate))
      return { tookMs: 0, isOutdated: false };
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
        this.#answer(batch, { kind: "wait" });
      }
      return { tookMs: performance.now() - startedAt, isOutdated: batch === undefined };
    } finally {
      this.#counting -= 1;
    }
  }

  #answer({ decided, counters }: DecidedBatch<FoundVerification>, locks: LockPolicy): void {
    // A counter that is missing while locked ones are skipped may also have been deleted.
    const isLocked = (id: CounterId): boolean => locks.kind === "skip" && !counters.has(id);
    const outdated: PendingVerification[] = [];
    const postponed: PendingVerification[] = [];
    for (const { request, decision } of decided) {
      const { pending } = request;
      if (decision.kind !== "outdated" && decision.kind !== "claimed") {
        this.#settle(pending, toAnswer(request.caller, pending.digest, decision));
        continue;
      }
      const locked = listCounterIds(request).filter(isLocked);
      const skipped = decision.kind === "claimed" ? [...locked, decision.userId] : locked;
      // A change of many keys can lock one after the other, so the whole workspace is isolated.
      if (skipped.length > 0 && locks.kind === "skip" && locks.isolatesSkipped)
        this.#isolate([...skipped, ...listWorkspaceIds(request, isLocked)]);
      // Facts that are outdated twice change often, and must not keep the database busy.
      if (skipped.length > 0 || pending.wasOutdated) postponed.push(pending);
      else outdated.push(pending);
      // If only its user was skipped, its facts were not compared, and nothing indicates that they have changed.
      if (decision.kind === "claimed" && locked.length === 0) continue;
      this.#keys.forget(pending);
      pending.wasOutdated = true;
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
function hasUnmetered(requests: readonly FoundVerification[], now: number): boolean {
  try {
    return requests.some((request) => isUnmetered(request, now));
  } catch (error) {
    throw new RolledBack(error);
  }
}

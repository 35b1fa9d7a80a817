import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type pg from "pg";
import { AdmissionConnection } from "../admission/admission-connection.ts";
import { malformed, presentedBy, unavailable, unknownKey } from "../admission/answer.ts";
import type { KeyFacts } from "../admission/decision.ts";
import type { AdmissionOptions } from "../admission/options.ts";
import { type PendingState, Scheduler } from "../admission/scheduler.ts";
import type { LimitState, Verdict } from "../admission/verdict.ts";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { chooseBatch } from "./choose-batch.ts";
import {
  decideRequest,
  type KnownRequest,
  listCounterIds,
  type RequestDecision,
  type SpentKey,
} from "./decide-verification.ts";
import { type FoundRequest, KeyDirectory } from "./key-directory.ts";
import type { LimitResult } from "./meters.ts";
import { findEarlier, lockCounters, type NamedRequest, recordSpending, writeCounters } from "./statements.ts";
import type { OwnerVersion } from "./verifiable-key.ts";
import type { Verification, VerificationOutcome, VerificationRequest } from "./verification.ts";

/** The verdict on the caller and, if it was admitted, the results of its verifications. */
export interface VerifierAnswer {
  readonly verdict: Verdict;
  /** Undefined unless the caller was admitted. */
  readonly outcome: VerificationOutcome | undefined;
}

interface PendingVerification extends PendingState, VerificationRequest {
  /** SHA-256 of the caller's key, in base64; undefined for a member who verifies without a key. */
  readonly digest: string | undefined;
  /** Whether it only finds the caller's key: it is answered without being counted. */
  readonly isProbe: boolean;
  readonly answer: (answer: VerifierAnswer) => void;
  /** Whether its facts had changed when it was decided. */
  wasOutdated: boolean;
}

/** The answer to a probe whose key exists. */
const recognized: VerifierAnswer = { verdict: unavailable, outcome: undefined };

type PreparedRequest = FoundRequest<PendingVerification>;

interface DecidedRequest {
  readonly request: PreparedRequest & KnownRequest;
  readonly decision: RequestDecision;
}

/** The most pending requests. */
const maxPending = 2_000;
/**
 * The most pending verifications of one API key, so that its requests neither fill the memory nor keep those of others waiting
 * past their deadline.
 */
const maxPendingOfCaller = 10_000;

/**
 * Admits requests that verify issued keys. The use of the caller's key and the costs of the verified keys are counted in one
 * transaction, which locks the counters, decides all requests of a batch in order, and writes the counters back.
 *
 * It has a queue and a connection of its own: other statements on the connection would become part of its transactions
 * (docs/decisions/0058).
 */
export class Verifier {
  readonly #connection: AdmissionConnection;
  readonly #keys: KeyDirectory<PendingVerification>;
  readonly #scheduler: Scheduler<PendingVerification>;
  readonly #onFailure: NonNullable<AdmissionOptions["onFailure"]>;
  /** How many verifications each caller has pending, by the digest of its key, or the ID of a member. */
  readonly #pendingOfCaller = new Map<string, number>();

  constructor(options: AdmissionOptions) {
    this.#keys = new KeyDirectory(options.maxCachedFacts ?? 200_000);
    // A database that lost its latest changes reuses their versions, so that facts from before would seem current.
    this.#connection = new AdmissionConnection(options.connection, () => this.#keys.invalidate());
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#scheduler = new Scheduler<PendingVerification>(
      {
        prepare: () => (this.#connection.isConnected ? undefined : this.#connection.connect()),
        execute: (requests) => this.#execute(requests),
        reject: (request) => request.answer({ verdict: unavailable, outcome: undefined }),
        report: (error) => this.#reportFailure(error),
        cancelIfSilentFor: (milliseconds) => this.#connection.dropIfSilentFor(milliseconds),
      },
      {
        deadlineMs: options.deadlineMs ?? 1_500,
        maxPending: options.maxWaiting ?? maxPending,
        maxInFlight: 1,
      },
    );
  }

  /**
   * Whether a token is a key that the database knows, which is read without counting a use. Callers read the body of a request
   * only then, so that a forged key costs one lookup.
   */
  async recognizes(token: string): Promise<boolean> {
    if (token.length !== apiKeyLength) return false;
    const digest = digestKey(token);
    if (this.#keys.hasApiKey(digest)) return true;
    if (!isWellFormedApiKey(token)) return false;
    const probe = { address: undefined, verifications: [], name: undefined };
    const { verdict } = await this.#enqueue(digest, { digest, ...probe, isProbe: true });
    return verdict.kind !== "rejected";
  }

  /**
   * Admits a request with this token, and verifies keys for it. A rejected or rate limited caller spends nothing. The token
   * may be any string that a caller sent.
   */
  verify(token: string, request: VerificationRequest): Promise<VerifierAnswer> {
    if (token.length !== apiKeyLength) return Promise.resolve({ verdict: malformed, outcome: undefined });
    const digest = digestKey(token);
    if (!this.#keys.hasApiKey(digest) && !isWellFormedApiKey(token))
      return Promise.resolve({ verdict: malformed, outcome: undefined });
    return this.#enqueue(digest, { ...request, digest, isProbe: false });
  }

  /**
   * Verifies a key for a member who has no API key in the request, in one workspace. Call it only after a check that was made
   * when the request had arrived: the member may verify keys in the workspace.
   * @returns undefined if the database is unavailable, or too many verifications are pending.
   */
  async verifyForMember(
    userId: UserId,
    verification: Verification & { readonly workspaceId: WorkspaceId },
  ): Promise<VerificationOutcome | undefined> {
    const request = { address: undefined, verifications: [verification], name: undefined };
    const { outcome } = await this.#enqueue(userId, { ...request, digest: undefined, isProbe: false });
    return outcome;
  }

  /** @param callerId the digest of the caller's key, or the ID of a member. */
  #enqueue(
    callerId: string,
    request: VerificationRequest & Pick<PendingVerification, "digest" | "isProbe">,
  ): Promise<VerifierAnswer> {
    // Unknown keys, including forged ones, occupy at most half of the queue, so that they cannot crowd out known keys.
    const isKnown = request.digest === undefined || this.#keys.hasApiKey(request.digest);
    const count = request.verifications.length;
    const ofCaller = this.#pendingOfCaller.get(callerId) ?? 0;
    if (!this.#scheduler.hasRoom(isKnown) || ofCaller + count > maxPendingOfCaller)
      return Promise.resolve({ verdict: unavailable, outcome: undefined });
    this.#pendingOfCaller.set(callerId, ofCaller + count);
    return new Promise((answer) => {
      this.#scheduler.add({
        ...request,
        answer: (verdict) => {
          const left = (this.#pendingOfCaller.get(callerId) ?? 0) - count;
          if (left > 0) this.#pendingOfCaller.set(callerId, left);
          else this.#pendingOfCaller.delete(callerId);
          answer(verdict);
        },
        mayFillQueue: isKnown,
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
    const { chosen, deferred } = chooseBatch(requests.filter(({ isAnswered }) => !isAnswered));
    this.#scheduler.requeue(deferred);
    if (chosen.length === 0) return;
    await this.#connection.use(async (client) => {
      const { found, unknown } = await this.#keys.find(client, chosen);
      this.#connection.noteProgress();
      for (const request of unknown) this.#settle(request, { verdict: unknownKey, outcome: undefined });
      for (const { pending } of found) if (pending.isProbe) this.#settle(pending, recognized);
      const decidable = () => found.filter(({ pending }) => !pending.isAnswered);
      try {
        await this.#spend(client, decidable(), { skipsLocked: false });
      } catch (error) {
        if (!isDefiniteAbort(error)) throw error;
        this.#connection.noteProgress();
        // Nothing was spent and no request was answered, so the batch can be decided past the locked rows.
        await this.#spend(client, decidable(), { skipsLocked: true });
      }
    });
  }

  /** Locks the counters of a batch, decides its requests, writes what they spent, and answers after the commit. */
  async #spend(
    client: pg.Client,
    prepared: readonly PreparedRequest[],
    { skipsLocked }: { readonly skipsLocked: boolean },
  ): Promise<void> {
    if (prepared.length === 0) return;
    const owners = listOwners(prepared);
    const ids = [...new Set(prepared.flatMap(listCounterIds))];
    const named = prepared.flatMap((request) => toNamedRequest(request) ?? []);
    const begun = client.query("begin");
    try {
      const [locked, earlier] = await Promise.all([
        lockCounters(client, ids, { owners, skipsLocked }),
        named.length > 0 ? findEarlier(client, named) : [],
        begun,
      ]);
      this.#connection.noteProgress();
      // Requests with one name are decided in order, each by what the ones before it have spent.
      const earlierOf = new Map(named.map((request, index) => [nameOf(request), earlier[index]]));
      const changed = new Map<string, Set<number>>();
      for (const { id, version } of locked.changedOwners)
        changed.set(id, (changed.get(id) ?? new Set()).add(version));
      const state = {
        counters: locked.counters,
        now: locked.now,
        isOwnerCurrent: (id: string, version: number) => !changed.get(id)?.has(version),
      };
      const records = new Map<string, NamedRequest & { readonly spent: readonly SpentKey[] }>();
      const decided = prepared.map((unnamed) => {
        const name = toNamedRequest(unnamed);
        const request = { ...unnamed, earlier: name && earlierOf.get(nameOf(name)) };
        const decision = decideRequest(request, state);
        const spent = name && listSpent(request, decision);
        if (name && spent) {
          earlierOf.set(nameOf(name), { kind: "known", spent });
          records.set(nameOf(name), { ...name, spent });
        }
        return { request, decision };
      });
      const written = [...locked.counters.values()].filter(({ isChanged }) => isChanged);
      // The commit is sent behind the update, so that the rows are locked for one round trip. If the update failed, it rolls back.
      const writes = written.length > 0 ? [writeCounters(client, written, locked.now)] : [];
      if (records.size > 0) writes.push(recordSpending(client, [...records.values()]));
      await Promise.all([...writes, client.query("commit")]);
      this.#answer(decided, { isLocked: (id) => skipsLocked && !locked.counters.has(id) });
    } catch (error) {
      await client.query("rollback").catch(() => undefined);
      throw error;
    }
  }

  #answer(
    decided: readonly DecidedRequest[],
    { isLocked }: { readonly isLocked: (id: ReturnType<typeof listCounterIds>[number]) => boolean },
  ): void {
    const again: PendingVerification[] = [];
    const postponed: PendingVerification[] = [];
    for (const { request, decision } of decided) {
      const { pending } = request;
      if (decision.kind !== "outdated") this.#settle(pending, toAnswer(request, decision));
      else {
        this.#keys.forget(pending);
        // A counter that is missing while locked ones are skipped may also have been deleted. Facts that are outdated twice
        // change often, and must not keep the database busy.
        if (listCounterIds(request).some(isLocked) || pending.wasOutdated) postponed.push(pending);
        else again.push(pending);
        pending.wasOutdated = true;
      }
    }
    this.#scheduler.requeue(again.filter(({ isAnswered }) => !isAnswered));
    if (postponed.length > 0) this.#scheduler.postpone(postponed);
  }

  #settle(request: PendingVerification, answer: VerifierAnswer): void {
    if (this.#scheduler.settle(request)) request.answer(answer);
  }

  /** Reports a failure. A reporter that throws must not keep requests from being answered; its error becomes a process warning. */
  #reportFailure(error: unknown): void {
    try {
      this.#onFailure(error);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  }
}

/** A request with an `Idempotency-Key`; undefined for one without. */
function toNamedRequest({ caller, pending: { name } }: PreparedRequest): NamedRequest | undefined {
  return caller && name && { userId: caller.userId, name };
}

/** Identifies a request with an `Idempotency-Key`, with its body: the same key with another body is another request. */
function nameOf({ userId, name: { method, path, key, bodyHash } }: NamedRequest): string {
  return JSON.stringify([userId, method, path, key, bodyHash.toString("base64")]);
}

/** What a request has spent, with what earlier ones with the same name have spent; undefined if it verified nothing. */
function listSpent(
  { earlier }: DecidedRequest["request"],
  decision: RequestDecision,
): readonly SpentKey[] | undefined {
  if (decision.kind !== "admitted" || decision.outcome.kind !== "verified") return undefined;
  const before = earlier?.kind === "known" ? earlier.spent : [];
  return decision.outcome.results.map((result, index) =>
    result.code === "VALID" ? result.key.keyId : (before[index] ?? null),
  );
}

/** The owners of the keys of a batch, each version once. */
function listOwners(requests: readonly PreparedRequest[]): OwnerVersion[] {
  const owners = new Map<string, OwnerVersion>();
  const add = ({ id, version }: OwnerVersion) => owners.set(`${id} ${version}`, { id, version });
  for (const { caller, targets } of requests) {
    if (caller) add({ id: caller.userId, version: caller.ownerVersion });
    for (const facts of targets) {
      if (!facts) continue;
      add(facts.owner);
      if (facts.consumer) add(facts.consumer);
    }
  }
  return [...owners.values()];
}

function toAnswer(
  { caller, pending: { digest } }: PreparedRequest,
  decision: Exclude<RequestDecision, { kind: "outdated" }>,
): VerifierAnswer {
  // There is no verdict on a member without a key.
  if (!caller || digest === undefined)
    return { verdict: unavailable, outcome: decision.kind === "admitted" ? decision.outcome : undefined };
  const presented = presentedBy(caller, digest);
  switch (decision.kind) {
    case "rejected":
      return { verdict: { ...decision, presented }, outcome: undefined };
    case "limited":
      return {
        verdict: { kind: "limited", presented, limit: toLimitState(caller, decision.limit) },
        outcome: undefined,
      };
    case "admitted": {
      const { keyId, userId, restrictions, isRestricted, isFormerSecret } = caller;
      return {
        verdict: {
          kind: "admitted",
          presented,
          principal: { keyId, userId, digest, restrictions, isRestricted, isByFormerSecret: isFormerSecret },
          access: undefined,
          limit: decision.limit && toLimitState(caller, decision.limit),
        },
        outcome: decision.outcome,
      };
    }
    default:
      return decision satisfies never;
  }
}

function toLimitState({ limit }: KeyFacts, { quota, remaining, resetsInSeconds }: LimitResult): LimitState {
  return { limit: limit ?? { quota, windowSeconds: 0 }, remaining, resetsInSeconds };
}

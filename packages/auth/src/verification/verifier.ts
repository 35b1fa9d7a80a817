import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import type pg from "pg";
import { AdmissionConnection } from "../admission/admission-connection.ts";
import { malformed, presentedBy, unavailable, unknownKey } from "../admission/answer.ts";
import { checkKey, haveSameVersions, type KeyFacts } from "../admission/decision.ts";
import { FactsCache } from "../admission/facts-cache.ts";
import type { AdmissionOptions } from "../admission/options.ts";
import { type PendingState, Scheduler } from "../admission/scheduler.ts";
import type { LimitState, Verdict } from "../admission/verdict.ts";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { toApiKeyTarget } from "./api-key-target.ts";
import {
  decideRequest,
  findTarget,
  type KnownRequest,
  listCounterIds,
  type RequestDecision,
} from "./decide-verification.ts";
import type { OwnerVersion, VerifiableKey } from "./issued-key-facts.ts";
import type { LimitResult } from "./meters.ts";
import {
  type ApiKeyLookup,
  findApiKeys,
  findCandidates,
  findEarlier,
  lockCounters,
  recordSpending,
  writeCounters,
} from "./statements.ts";
import type { RequestName, Verification, VerificationOutcome } from "./verification.ts";

/** The verdict on the caller and, if it was admitted, the results of its verifications. */
export interface VerifierAnswer {
  readonly verdict: Verdict;
  /** Undefined unless the caller was admitted. */
  readonly outcome: VerificationOutcome | undefined;
}

/** A request that verifies keys. */
export interface VerificationRequest {
  /** The caller's IP address; undefined if it is not known. */
  readonly address: string | undefined;
  readonly verifications: readonly Verification[];
  /** Undefined for a request that spends each time it is sent. */
  readonly name: RequestName | undefined;
}

interface PendingVerification extends PendingState, VerificationRequest {
  readonly digest: string;
  readonly answer: (answer: VerifierAnswer) => void;
}

/** A request of a batch, with the facts by which it is decided. */
interface PreparedRequest extends Omit<KnownRequest, "earlier"> {
  readonly pending: PendingVerification;
}

interface DecidedRequest {
  readonly request: PreparedRequest & KnownRequest;
  readonly decision: RequestDecision;
}

/**
 * Admits requests that verify issued keys. The use of the caller's key and the costs of the verified keys are counted in one
 * transaction, which locks the counters, decides all requests of a batch in order, and writes the counters back.
 *
 * It has a queue and a connection of its own: other statements on the connection would become part of its transactions
 * (docs/decisions/0058).
 */
export class Verifier {
  readonly #connection: AdmissionConnection;
  readonly #apiKeys: FactsCache;
  readonly #issuedKeys: Map<string, readonly VerifiableKey[]> = new Map();
  readonly #maxIssuedKeys: number;
  readonly #scheduler: Scheduler<PendingVerification>;
  readonly #onFailure: NonNullable<AdmissionOptions["onFailure"]>;

  constructor(options: AdmissionOptions) {
    this.#maxIssuedKeys = options.maxCachedFacts ?? 200_000;
    this.#apiKeys = new FactsCache(this.#maxIssuedKeys);
    // A database that lost its latest changes reuses their versions, so that facts from before would seem current.
    this.#connection = new AdmissionConnection(options.connection, () => {
      this.#apiKeys.invalidate();
      this.#issuedKeys.clear();
    });
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#scheduler = new Scheduler<PendingVerification>(
      {
        prepare: () => (this.#connection.isConnected ? undefined : this.#connection.connect()),
        execute: (requests) => this.#execute(requests),
        reject: (request) => request.answer({ verdict: unavailable, outcome: undefined }),
        report: (error) => this.#reportFailure(error),
        cancelIfSilentFor: (milliseconds) => this.#connection.dropIfSilentFor(milliseconds),
      },
      { deadlineMs: options.deadlineMs ?? 1_500, maxPending: options.maxWaiting ?? 10_000, maxInFlight: 1 },
    );
  }

  /**
   * Admits a request with this token, and verifies keys for it. A rejected or rate limited caller spends nothing. The token
   * may be any string that a caller sent.
   */
  verify(token: string, request: VerificationRequest): Promise<VerifierAnswer> {
    if (token.length !== apiKeyLength) return Promise.resolve({ verdict: malformed, outcome: undefined });
    const digest = digestKey(token);
    const isKnown = this.#apiKeys.has(digest);
    if (!isKnown && !isWellFormedApiKey(token))
      return Promise.resolve({ verdict: malformed, outcome: undefined });
    // Unknown keys, including forged ones, occupy at most half of the queue, so that they cannot crowd out known keys.
    if (!this.#scheduler.hasRoom(isKnown))
      return Promise.resolve({ verdict: unavailable, outcome: undefined });
    return new Promise((answer) => {
      this.#scheduler.add({
        ...request,
        digest,
        answer,
        mayFillQueue: isKnown,
        arrivedAt: performance.now(),
        wasPostponed: false,
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
    const { pending, deferred } = separateRepeated(requests.filter(({ isAnswered }) => !isAnswered));
    this.#scheduler.requeue(deferred);
    if (pending.length === 0) return;
    await this.#connection.use(async (client) => {
      const prepared = await this.#prepare(client, pending);
      if (prepared.length === 0) return;
      try {
        await this.#spend(client, prepared, { skipsLocked: false });
      } catch (error) {
        if (!isDefiniteAbort(error)) throw error;
        // Nothing was spent and no request was answered, so the batch can be decided past the locked rows.
        await this.#spend(client, prepared, { skipsLocked: true });
      }
    });
  }

  /** Finds the facts of each request. Rejects requests whose key is unknown, and returns the others. */
  async #prepare(client: pg.Client, pending: readonly PendingVerification[]): Promise<PreparedRequest[]> {
    const prepared: PreparedRequest[] = [];
    const incomplete: PendingVerification[] = [];
    for (const request of pending) {
      const known = toPrepared(request, { apiKeys: this.#apiKeys, issuedKeys: this.#issuedKeys });
      // Only keys that were found are remembered: the others are looked up after each request has arrived.
      if (known?.targets.every((facts) => facts !== undefined)) prepared.push(known);
      else incomplete.push(request);
    }
    if (incomplete.length > 0) prepared.push(...(await this.#lookUp(client, incomplete)));
    return prepared;
  }

  async #lookUp(client: pg.Client, pending: readonly PendingVerification[]): Promise<PreparedRequest[]> {
    const verifications = pending.flatMap((request) => request.verifications);
    const digests = [...new Set(verifications.flatMap(({ digest, isApiKey }) => (isApiKey ? [] : [digest])))];
    const found = digests.length > 0 ? await findCandidates(client, digests) : [];
    const issuedKeys = new Map(digests.map((digest, index) => [digest, found[index] ?? []]));
    for (const [digest, candidates] of issuedKeys) this.#remember(digest, candidates);
    const lookups = pending.flatMap((request) => listLookups(request, issuedKeys));
    const apiKeys = mergeFacts(lookups, await findApiKeys(client, lookups));
    for (const { digest } of lookups) {
      const facts = apiKeys.get(digest);
      if (facts && checkKey(facts).kind === "allowed") this.#apiKeys.set(digest, facts);
      else this.#apiKeys.delete(digest);
    }
    return pending.flatMap((request) => {
      const prepared = toPrepared(request, { apiKeys, issuedKeys });
      if (!prepared) this.#settle(request, { verdict: unknownKey, outcome: undefined });
      return prepared ?? [];
    });
  }

  /** Remembers keys that were found. A digest that no key has is looked up each time, because no row would confirm it. */
  #remember(digest: string, candidates: readonly VerifiableKey[]): void {
    this.#issuedKeys.delete(digest);
    if (candidates.length === 0) return;
    this.#issuedKeys.set(digest, candidates);
    const [oldest] = this.#issuedKeys.keys();
    if (oldest !== undefined && this.#issuedKeys.size > this.#maxIssuedKeys) this.#issuedKeys.delete(oldest);
  }

  /** Locks the counters of a batch, decides its requests, writes what they spent, and answers after the commit. */
  async #spend(
    client: pg.Client,
    prepared: readonly PreparedRequest[],
    { skipsLocked }: { readonly skipsLocked: boolean },
  ): Promise<void> {
    const owners = listOwners(prepared);
    const ids = [...new Set(prepared.flatMap(listCounterIds))];
    const named = prepared.flatMap(({ caller: { userId }, pending: { name } }) =>
      name ? [{ userId, name }] : [],
    );
    const begun = client.query("begin");
    try {
      const [locked, earlier] = await Promise.all([
        lockCounters(client, ids, { owners, skipsLocked }),
        named.length > 0 ? findEarlier(client, named) : [],
        begun,
      ]);
      const earlierOf = new Map(named.map(({ name }, index) => [name, earlier[index]]));
      const changed = new Map<string, Set<number>>();
      for (const { id, version } of locked.changedOwners)
        changed.set(id, (changed.get(id) ?? new Set()).add(version));
      const state = {
        counters: locked.counters,
        now: locked.now,
        isOwnerCurrent: (id: string, version: number) => !changed.get(id)?.has(version),
      };
      const decided = prepared.map((unnamed) => {
        const { name } = unnamed.pending;
        const request = { ...unnamed, earlier: name && earlierOf.get(name) };
        return { request, decision: decideRequest(request, state) };
      });
      const written = [...locked.counters.values()].filter(({ isChanged }) => isChanged);
      // The commit is sent behind the update, so that the rows are locked for one round trip. If the update failed, it rolls back.
      const writes = written.length > 0 ? [writeCounters(client, written, locked.now)] : [];
      const records = decided.flatMap(({ request, decision }) => listSpending(request, decision));
      if (records.length > 0) writes.push(recordSpending(client, records));
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
      else if (listCounterIds(request).some(isLocked)) postponed.push(pending);
      else {
        this.#forget(pending);
        again.push(pending);
      }
    }
    this.#scheduler.requeue(again.filter(({ isAnswered }) => !isAnswered));
    if (postponed.length > 0) this.#scheduler.postpone(postponed);
  }

  #forget({ digest, verifications }: PendingVerification): void {
    this.#apiKeys.delete(digest);
    for (const verification of verifications) this.#issuedKeys.delete(verification.digest);
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

/**
 * Requests with the same `Idempotency-Key` go into different batches, so that the second one finds what the first one spent.
 * Those on other nodes wait for the same locks.
 */
function separateRepeated(requests: readonly PendingVerification[]): {
  readonly pending: readonly PendingVerification[];
  readonly deferred: readonly PendingVerification[];
} {
  const names = new Set<string>();
  const pending: PendingVerification[] = [];
  const deferred: PendingVerification[] = [];
  for (const request of requests) {
    const name = request.name && `${request.name.path} ${request.name.key}`;
    if (name !== undefined && names.has(name)) deferred.push(request);
    else pending.push(request);
    if (name !== undefined) names.add(name);
  }
  return { pending, deferred };
}

/** What a request with a name has spent; empty for one that has no name or verified nothing. */
function listSpending(
  { pending: { name }, caller: { userId }, verifications, earlier }: DecidedRequest["request"],
  decision: RequestDecision,
) {
  if (!name || decision.kind !== "admitted" || decision.outcome.kind !== "verified") return [];
  const before = earlier?.kind === "known" ? earlier.spent : [];
  const spent = decision.outcome.results.map((result, index) =>
    result.code === "VALID" && verifications[index] ? result.key.keyId : (before[index] ?? null),
  );
  return [{ userId, name, spent }];
}

/** The facts about keys, by the digests of their secrets. */
interface KnownKeys {
  readonly apiKeys: { readonly get: (digest: string) => KeyFacts | undefined };
  readonly issuedKeys: { readonly get: (digest: string) => readonly VerifiableKey[] | undefined };
}

/** Finds the keys that a request is about; undefined if the caller's key is unknown. */
function toPrepared(pending: PendingVerification, known: KnownKeys): PreparedRequest | undefined {
  const { digest, address, verifications } = pending;
  const caller = known.apiKeys.get(digest);
  if (!caller) return undefined;
  const targets = verifications.map((verification) =>
    findTarget(verification, { caller, address, candidates: listCandidates(verification, known) }),
  );
  return { pending, address, caller, verifications, targets };
}

/** The keys that a verification can mean. An API key is verified only in a workspace that the request names. */
function listCandidates(
  { digest, isApiKey, workspaceId }: Verification,
  { apiKeys, issuedKeys }: KnownKeys,
): readonly VerifiableKey[] {
  if (!isApiKey) return issuedKeys.get(digest) ?? [];
  const facts = workspaceId && apiKeys.get(digest);
  const target = facts && toApiKeyTarget(facts, workspaceId);
  return target ? [target] : [];
}

/** The caller's key and the API keys to verify, each with its membership in every workspace that the request may be about. */
function listLookups(
  { digest: callerDigest, verifications }: PendingVerification,
  issuedKeys: ReadonlyMap<string, readonly VerifiableKey[]>,
): ApiKeyLookup[] {
  const lookups: ApiKeyLookup[] = [];
  for (const { digest, isApiKey, workspaceId } of verifications) {
    if (isApiKey && workspaceId) lookups.push({ digest, workspaceId }, { digest: callerDigest, workspaceId });
    for (const key of issuedKeys.get(digest) ?? [])
      lookups.push({ digest: callerDigest, workspaceId: key.workspaceId });
  }
  if (!lookups.some(({ digest }) => digest === callerDigest))
    lookups.push({ digest: callerDigest, workspaceId: undefined });
  return lookups;
}

/** Adds up the memberships of each API key. */
function mergeFacts(
  lookups: readonly ApiKeyLookup[],
  found: readonly (KeyFacts | undefined)[],
): ReadonlyMap<string, KeyFacts> {
  const merged = new Map<string, KeyFacts>();
  for (const [index, { digest }] of lookups.entries()) {
    const facts = found[index];
    if (!facts) continue;
    const known = merged.get(digest);
    const memberships =
      known && haveSameVersions(known, facts)
        ? new Map([...known.memberships, ...facts.memberships])
        : facts.memberships;
    merged.set(digest, { ...facts, memberships });
  }
  return merged;
}

/** The owners of the keys of a batch, each version once. */
function listOwners(requests: readonly PreparedRequest[]): OwnerVersion[] {
  const owners = new Map<string, OwnerVersion>();
  const add = ({ id, version }: OwnerVersion) => owners.set(`${id} ${version}`, { id, version });
  for (const { caller, targets } of requests) {
    add({ id: caller.userId, version: caller.ownerVersion });
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

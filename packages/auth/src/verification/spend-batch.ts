import type { UserId } from "@latchkey/db/ids";
import { isSerializationFailure, isServerUnavailable } from "@latchkey/db/sqlstate";
import type pg from "pg";
import { assumeState, isMetered, isUnmetered } from "./assumed-state.ts";
import { claimNames } from "./claim-names.ts";
import { addUseRows, countUses } from "./count-statement.ts";
import { decideRequest, type FoundKeys, listCounterIds, type RequestDecision } from "./decide-request.ts";
import type { Counter, CounterId } from "./decide-verification.ts";
import { listOwners } from "./list-owners.ts";
import { compare, listSpent, nameOf, toNamedRequest } from "./request-records.ts";
import {
  findEarlier,
  lockCounters,
  recordSpending,
  type StoredSpending,
  writeCounters,
} from "./statements.ts";
import type { NamedRequest, VerificationRequest } from "./verification.ts";

/** A request of a batch, before what it has spent earlier is known. */
export interface PreparedRequest extends FoundKeys {
  readonly name: VerificationRequest["name"];
}

/** The decision about a request of a batch. */
type BatchDecision =
  | RequestDecision
  /** The request was skipped because another transaction has claimed the `Idempotency-Key`s of its user. Nothing was spent. */
  | { readonly kind: "claimed"; readonly userId: UserId };

export interface DecidedBatch<Request> {
  readonly decided: readonly { readonly request: Request; readonly decision: BatchDecision }[];
  /** The counters that were locked. Those that were skipped because another transaction had locked them are missing. */
  readonly counters: ReadonlyMap<CounterId, Counter>;
  /**
   * The issued keys without meters that were used, and have a row of `issued_key_uses` after the commit. Keys whose facts have
   * `isInUse` are left out, unless missing rows were added.
   */
  readonly firstUsed: ReadonlySet<CounterId>;
  /** The database's time, in milliseconds since the epoch. */
  readonly now: number;
}

/** What a transaction does about counters that another transaction has locked, and users whose names it has claimed. */
export type LockPolicy =
  /** Waits for each lock as long as the session allows. */
  | { readonly kind: "wait" }
  /** Waits for each lock at most this long, in milliseconds. */
  | { readonly kind: "wait-briefly"; readonly timeoutMs: number }
  /** Leaves them out. If they were locked for some time already, `isolatesSkipped` is true, and the keys and users are isolated. */
  | { readonly kind: "skip"; readonly isolatesSkipped: boolean };

interface SpendOptions<Request> {
  readonly maxNamedPerHour: number;
  /** Whether a request still waits for its answer. */
  readonly isPending: (request: Request) => boolean;
  readonly locks: LockPolicy;
  /**
   * Whether {@link countBatch} counted nothing of these requests. If none of them is outdated, the reason can be that a key has no row
   * of `issued_key_uses` although the facts say that there is one, so each missing row is added. Otherwise, `countBatch` would fail
   * each time.
   */
  readonly wasNotCounted: boolean;
}

/** A transaction that failed and was rolled back, so that nothing was spent. The connection can be used again. */
export class RolledBack extends Error {
  constructor(cause: unknown) {
    super("The transaction was rolled back.", { cause });
  }
}

/**
 * Rolls back after a failure before the commit was sent. Returns the error to throw: `RolledBack`, or the failure itself if the
 * connection broke or Postgres can serve no transaction at the moment.
 */
export async function rollBack(client: pg.Client, failure: unknown): Promise<unknown> {
  try {
    await client.query("rollback");
  } catch {
    return failure;
  }
  return asRolledBack(failure);
}

function asRolledBack(failure: unknown): unknown {
  return isServerUnavailable(failure) ? failure : new RolledBack(failure);
}

/**
 * Decides the requests without meters by the facts that the node remembers, and counts their uses in one round trip. Most
 * requests are of this kind, and locking their counters first would take Postgres twice as long.
 * @param now the database's time, as far as the node can tell.
 * @returns undefined if nothing was counted, because there is no such request or facts have changed. Requests that are not
 *   among the decided ones must be decided by {@link spendBatch}.
 * @throws {RolledBack} if nothing was counted. After any other error, the batch may have been committed.
 */
export async function countBatch<Request extends PreparedRequest>(
  client: pg.Client,
  requests: readonly Request[],
  now: number,
): Promise<DecidedBatch<Request> | undefined> {
  const { state, decided, isAnyOutdated } = decideByAssumption(requests, now);
  if (decided.length === 0) return undefined;
  const batch = {
    counters: isAnyOutdated ? listDecided(state.counters, decided) : [...state.counters.values()],
    apiKeys: listApiKeys(decided),
    owners: listOwners(decided.map(({ request }) => request)),
    validity: state.validity,
  };
  const { counted, committed } = sendTogether(client, () => {
    const begun = client.query("begin");
    const counted = countUses(client, batch);
    return { counted, committed: commit(client, [begun, counted]) };
  });
  try {
    await committed;
  } catch (error) {
    if (error instanceof RolledBack && isSerializationFailure(error.cause)) return undefined;
    throw error;
  }
  return { decided, counters: state.counters, firstUsed: new Set(), now: await counted };
}

/**
 * Sends the statements of `send`, which must be synchronous, in one packet. Each packet of its own would take a system call, and could
 * wake Postgres (docs/decisions/0075).
 */
function sendTogether<Result>(client: pg.Client, send: () => Result): Result {
  const { stream } = client.connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** The counters of the decided requests. Those of outdated requests would make the statement fail for all of them. */
function listDecided(
  counters: ReadonlyMap<CounterId, Counter>,
  decided: readonly { readonly request: PreparedRequest }[],
): Counter[] {
  const ids = new Set(decided.flatMap(({ request }) => listCounterIds(request)));
  return [...counters.values()].filter(({ id }) => ids.has(id));
}

function listApiKeys(decided: readonly { readonly request: PreparedRequest }[]): Set<CounterId> {
  const apiKeys = new Set<CounterId>();
  for (const { request } of decided) {
    if (request.caller) apiKeys.add(request.caller.keyId);
    for (const facts of request.targets) if (facts?.keyspaceId === null) apiKeys.add(facts.keyId);
  }
  return apiKeys;
}

/** @throws {RolledBack} if a request can't be decided. Nothing was sent. */
function decideByAssumption<Request extends PreparedRequest>(requests: readonly Request[], now: number) {
  try {
    const unmetered = requests.filter((request) => isUnmetered(request, now));
    const state = assumeState(unmetered, now);
    const decided = unmetered
      .map((request) => ({ request, decision: decideRequest({ ...request, earlier: undefined }, state) }))
      .filter(({ decision }) => decision.kind !== "outdated");
    return { state, decided, isAnyOutdated: decided.length < unmetered.length };
  } catch (error) {
    throw new RolledBack(error);
  }
}

/**
 * Locks the counters of a batch, decides its requests in their order, and writes what they spent. Requests that are no longer pending
 * when the counters are locked are left out. When it returns, the transaction has been committed.
 * @throws {RolledBack} if nothing was spent. After any other error, the batch may have been committed.
 */
export async function spendBatch<Request extends PreparedRequest>(
  client: pg.Client,
  requests: readonly Request[],
  { locks, maxNamedPerHour, isPending, wasNotCounted }: SpendOptions<Request>,
): Promise<DecidedBatch<Request>> {
  const ids = [...new Set(requests.flatMap(listCounterIds))];
  const names = requests.map(toNamedRequest);
  const named = names.filter((name) => name !== undefined);
  const owners = listOwners(requests);
  const limit = locks.kind === "wait-briefly" ? `; set local lock_timeout = ${locks.timeoutMs}` : "";
  let written: readonly Counter[];
  let recorded: readonly (NamedRequest & StoredSpending)[];
  let batch: DecidedBatch<Request>;
  try {
    const [, locked, skippedUsers, earlier] = await sendTogether(client, () =>
      Promise.all([
        client.query(`begin${limit}`),
        lockCounters(client, ids, { owners, skipsLocked: locks.kind === "skip" }),
        claimNames(client, named, { skipsClaimed: locks.kind === "skip" }),
        named.length > 0 ? findEarlier(client, named) : [],
      ]),
    );
    const { counters } = locked;
    const storedOf = new Map(named.map((request, index) => [request, earlier[index]]));
    const changed = new Map<string, Set<number>>();
    for (const { id, version } of locked.changedOwners)
      changed.set(id, (changed.get(id) ?? new Set()).add(version));
    const state = {
      counters,
      now: locked.now,
      hasPassed: (time: number) => time <= locked.now,
      maxNamedPerHour,
      isOwnerCurrent: (id: string, version: number) => !changed.get(id)?.has(version),
    };
    const records = new Map<string, NamedRequest & StoredSpending>();
    const decided = requests.flatMap((request, index) => {
      // The request's deadline may have passed while the counters were being locked. Its client got 503, so it must spend nothing.
      if (!isPending(request)) return [];
      const name = names[index];
      // Requests with one name are decided in order, each by what the ones before it have spent.
      const record = name && records.get(nameOf(name));
      const known = { ...request, earlier: record ? compare(record, name) : name && storedOf.get(name) };
      const decision: BatchDecision =
        name && skippedUsers.has(name.userId)
          ? { kind: "claimed", userId: name.userId }
          : decideRequest(known, state);
      const spent = name && decision.kind !== "claimed" ? listSpent(known, decision) : undefined;
      if (name && spent) records.set(nameOf(name), { ...name, spent });
      return [{ request, decision }];
    });
    const addsMissingRows = wasNotCounted && decided.every(({ decision }) => decision.kind !== "outdated");
    const firstUsed = listFirstUsed(
      decided.map(({ request }) => request),
      counters,
      addsMissingRows,
    );
    batch = { decided, counters, firstUsed, now: locked.now };
    written = [...counters.values()].filter(({ isChanged }) => isChanged);
    recorded = [...records.values()];
  } catch (error) {
    throw await rollBack(client, error);
  }
  await sendTogether(client, () => {
    const writes: Promise<unknown>[] = written.length > 0 ? [writeCounters(client, written, batch.now)] : [];
    const added = written.filter(({ id }) => batch.firstUsed.has(id));
    if (added.length > 0) writes.push(addUseRows(client, added));
    if (recorded.length > 0) writes.push(recordSpending(client, recorded));
    return commit(client, writes);
  });
  return batch;
}

/** See `firstUsed` of {@link DecidedBatch}. */
function listFirstUsed(
  requests: readonly PreparedRequest[],
  counters: ReadonlyMap<CounterId, Counter>,
  addsMissingRows: boolean,
): Set<CounterId> {
  const firstUsed = new Set<CounterId>();
  for (const { targets } of requests)
    for (const facts of targets) {
      // API keys have no rows.
      if (!facts || facts.keyspaceId === null || isMetered(facts)) continue;
      if (facts.isInUse && !addsMissingRows) continue;
      const counter = counters.get(facts.keyId);
      // A balance that was set after the facts were read doesn't change the version.
      if (counter && counter.uses > 0 && counter.meters.balance === null) firstUsed.add(facts.keyId);
    }
  return firstUsed;
}

/**
 * Sends the commit behind the writes, so that the rows are locked for one round trip. If a write fails, Postgres answers the
 * commit with a rollback: nothing was spent. If the commit isn't answered, whether it took effect is unknown.
 */
async function commit(client: pg.Client, writes: readonly Promise<unknown>[]): Promise<void> {
  const [ended, ...results] = await Promise.allSettled([client.query("commit"), ...writes]);
  const failed = results.find((result) => result.status === "rejected");
  if (ended.status === "rejected") throw ended.reason;
  const failure = failed?.reason ?? new Error("Postgres rolled back a transaction in which nothing failed.");
  if (ended.value.command === "ROLLBACK") throw asRolledBack(failure);
  if (failed) throw failure;
}

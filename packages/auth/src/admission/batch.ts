import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import { mintWorkspaceScope } from "@latchkey/db/mint-workspace-scope";
import type { WorkspaceAccess } from "../workspace-access.ts";
import { haveSameVersions, type KeyFacts, type Membership, type Requirement } from "./decision.ts";
import type { KeyLookup } from "./resolve-statement.ts";
import type { PendingState } from "./scheduler.ts";
import type { UsageIncrement } from "./usage-increment.ts";
import type { Verdict } from "./verdict.ts";

/** A request to admit. */
export interface AdmissionRequest {
  readonly digest: string;
  readonly requirement: Requirement | undefined;
  readonly address: string | undefined;
  /** The remembered facts by which the request was allowed; undefined for a key that must be looked up. */
  readonly facts: KeyFacts | undefined;
  /** The ID of the key's user; the digest while the user isn't known. */
  readonly callerId: string;
}

const unknownDigest = Buffer.alloc(32).toString("base64");
/** A request with a digest that belongs to no key. Admitting it runs a lookup and changes nothing. */
export const healthCheckRequest: AdmissionRequest = {
  digest: unknownDigest,
  requirement: undefined,
  address: undefined,
  facts: undefined,
  callerId: unknownDigest,
};

export function isHealthCheck({ digest }: AdmissionRequest): boolean {
  return digest === healthCheckRequest.digest;
}

/**
 * A request without a verdict. It may fill the queue if the node remembered its key when it arrived, and is postponed if
 * another transaction locks a row that it needs.
 */
export interface PendingRequest extends AdmissionRequest, PendingState {
  readonly answer: (verdict: Verdict) => void;
  /** Removed when the key's version has changed, and set when the key has been looked up. */
  facts: KeyFacts | undefined;
  /** How many connections admission had opened when the facts were taken. Facts from an earlier connection don't count. */
  epoch: number;
}

/** Requests with one secret of a key that a statement counts, and the facts by which they were allowed. */
export interface UsageGroup {
  readonly digest: string;
  readonly facts: KeyFacts;
  readonly requests: PendingRequest[];
}

/** Requests that need the same lookup. */
export interface LookupGroup {
  readonly lookup: KeyLookup;
  readonly requests: PendingRequest[];
}

/** The input of one statement: uses to count, by key, and keys to look up. */
export interface Batch {
  readonly usageGroups: Map<KeyId, UsageGroup>;
  readonly lookupGroups: Map<string, LookupGroup>;
}

/**
 * Splits requests by the statement that serves them. `known` are counted by remembered facts. `isolated` are looked up or
 * counted by the statement that waits for no locks: besides requests without facts, it takes those of isolated keys, so that
 * no other key waits for their locks, and first uses of new secrets, which it marks as used. `deferred` go into a later
 * batch, because they present another secret of a key in `known`, and a statement counts a key once.
 */
export function composeBatches(
  requests: readonly PendingRequest[],
  isolatedKeys: { readonly has: (keyId: KeyId) => boolean },
): {
  readonly known: Batch["usageGroups"];
  readonly isolated: Batch;
  readonly deferred: readonly PendingRequest[];
} {
  const known: Batch["usageGroups"] = new Map();
  const isolated: Batch = { usageGroups: new Map(), lookupGroups: new Map() };
  const deferred: PendingRequest[] = [];
  for (const request of requests) {
    if (request.isAnswered) continue;
    const { facts } = request;
    if (!facts) {
      addLookup(isolated.lookupGroups, request);
      continue;
    }
    const usageGroups = facts.isUnusedSecret || isolatedKeys.has(facts.keyId) ? isolated.usageGroups : known;
    const group = usageGroups.get(facts.keyId);
    // The group is counted by the versions of its own facts, so a request that was decided by others must be looked up.
    if (group && !haveSameVersions(group.facts, facts)) addLookup(isolated.lookupGroups, request);
    else if (group && group.digest !== request.digest) deferred.push(request);
    else if (group) group.requests.push(request);
    else usageGroups.set(facts.keyId, { digest: request.digest, facts, requests: [request] });
  }
  return { known, isolated, deferred };
}

function addLookup(lookupGroups: Batch["lookupGroups"], request: PendingRequest): void {
  const { digest } = request;
  const workspaceId = workspaceOf(request);
  const name = workspaceId ? digest + workspaceId : digest;
  const group = lookupGroups.get(name);
  if (group) group.requests.push(request);
  else lookupGroups.set(name, { lookup: { digest, workspaceId }, requests: [request] });
}

/** The uses that a statement counts. */
export function listIncrements(usageGroups: Batch["usageGroups"]): UsageIncrement[] {
  const increments: UsageIncrement[] = [];
  for (const { facts, requests } of usageGroups.values()) {
    const { keyId, version, userId, ownerVersion, limit } = facts;
    const validUntil = findValidUntil(facts.validUntil, requests);
    increments.push({
      keyId,
      uses: requests.length,
      version,
      ownerId: userId,
      ownerVersion,
      validUntil,
      limit,
    });
  }
  return increments;
}

/**
 * The time before which all of a group's requests are allowed: when the key expires, the overlap of the old secret ends, or the
 * key becomes idle in one of the workspaces. A group that isn't counted because that time has passed is looked up: the history may
 * have later uses.
 */
function findValidUntil(ofKey: string | null, requests: readonly PendingRequest[]): string | null {
  let validUntil = ofKey;
  for (const request of requests) {
    const idleAt = membershipOf(request)?.idleAt ?? null;
    if (idleAt === null || idleAt === validUntil) continue;
    if (validUntil === null || Date.parse(idleAt) < Date.parse(validUntil)) validUntil = idleAt;
  }
  return validUntil;
}

/** The keys for which a statement counts the first use of a new secret. */
export function listFirstUses(usageGroups: Batch["usageGroups"]): KeyId[] {
  return [...usageGroups.values()].flatMap(({ facts }) => (facts.isUnusedSecret ? [facts.keyId] : []));
}

/** Returns a batch with the pending requests only. Groups without pending requests are left out. */
export function selectPending({ usageGroups, lookupGroups }: Batch): Batch {
  return { usageGroups: keepPending(usageGroups), lookupGroups: keepPending(lookupGroups) };
}

function keepPending<Name, Group extends UsageGroup | LookupGroup>(
  groups: ReadonlyMap<Name, Group>,
): Map<Name, Group> {
  const pending = new Map<Name, Group>();
  for (const [name, group] of groups) {
    const requests = group.requests.filter(({ isAnswered }) => !isAnswered);
    if (requests.length > 0) pending.set(name, { ...group, requests });
  }
  return pending;
}

export function listRequests({ usageGroups, lookupGroups }: Batch): PendingRequest[] {
  return [...usageGroups.values(), ...lookupGroups.values()].flatMap(({ requests }) => requests);
}

/** The access to the required workspace that an admitted request has. Its facts were still current when it was counted. */
export function openWorkspace(request: PendingRequest): WorkspaceAccess | undefined {
  const { facts } = request;
  const workspaceId = workspaceOf(request);
  const role = membershipOf(request)?.role;
  return (
    facts && workspaceId && role && { scope: mintWorkspaceScope(workspaceId), userId: facts.userId, role }
  );
}

function membershipOf(request: PendingRequest): Membership | undefined {
  const workspaceId = workspaceOf(request);
  return workspaceId && request.facts?.memberships.get(workspaceId);
}

function workspaceOf({ requirement }: PendingRequest): WorkspaceId | undefined {
  return typeof requirement === "object" ? requirement.workspaceId : undefined;
}

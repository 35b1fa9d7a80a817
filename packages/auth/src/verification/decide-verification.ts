import type { ConsumerId, IssuedKeyId, KeyId, UserId } from "@latchkey/db/ids";
import type { NamedLimit } from "@latchkey/db/issued-key-settings";
import { apiKeyLimitName } from "./api-key-target.ts";
import { type Charge, type LimitResult, type MeterState, type Spending, spend } from "./meters.ts";
import { satisfies } from "./permission-query.ts";
import type { VerifiableKey } from "./verifiable-key.ts";
import type { Verification, VerificationResult, VerifiedKey } from "./verification.ts";

/** The ID of a row of `key_counters`. */
export type CounterId = KeyId | IssuedKeyId | ConsumerId;

/** A row of `key_counters`, locked or assumed, with what the batch has spent so far. Only the decision changes it. */
export interface Counter {
  readonly id: CounterId;
  readonly version: number;
  /** Uses that the batch has added. */
  uses: number;
  /** Whether the batch has counted the first use of a new secret. */
  isSecretUsed: boolean;
  /** The window of an API key's rate limit, under {@link apiKeyLimitName}, or those of an issued key or consumer. */
  meters: MeterState;
  isChanged: boolean;
}

/** What a batch is decided by: locked rows or, before they are locked, assumptions that are checked later. */
export interface DecisionState {
  readonly counters: ReadonlyMap<CounterId, Counter>;
  /** Whether the version of an owner of keys is the current one. */
  readonly isOwnerCurrent: (id: string, version: number) => boolean;
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** Whether a time of facts is not after `now`. Every decision about such a time asks this function. */
  readonly hasPassed: (time: number) => boolean;
  /** The most verifications with a new name that an API key can request per hour. */
  readonly maxNamedPerHour: number;
}

/** The key that a verification has spent from; null for none. */
export type SpentKey = IssuedKeyId | KeyId | null;

/** An earlier request with the same name. */
export type EarlierRequest =
  | { readonly kind: "none" }
  /** The keys that it and those before it spent from, by the position of the verification. */
  | { readonly kind: "known"; readonly spent: readonly SpentKey[] }
  | { readonly kind: "name-reused" };

/** A verification that checks the key and spends nothing. */
export function withoutCost(verification: Verification): Verification {
  const limits = verification.limits.map(({ name }) => ({ name, cost: 0 }));
  return { ...verification, cost: 0, limits };
}

/**
 * Whether a verification spends anything if the key is valid, and is therefore a use of the key: its cost, or the cost of a limit that
 * it names, isn't 0 (docs/decisions/0083-costs-of-named-limits-are-uses.md).
 */
export function hasCost({ cost, limits }: Verification): boolean {
  return cost > 0 || limits.some((limit) => limit.cost !== undefined && limit.cost > 0);
}

const nothingSpent: Spending = { outcome: "spent", states: [], limits: [], remainingCredits: null };

const notFound = { code: "NOT_FOUND" } as const satisfies VerificationResult;

/**
 * Decides one verification: checks the key and, if it is valid, spends the costs in the state. Pure apart from the counters that it
 * changes.
 * @param options.facts the current facts about the key; undefined if the caller may verify none with this digest.
 */
export function decideVerification(
  verification: Verification,
  { facts, state }: { readonly facts: VerifiableKey | undefined; readonly state: DecisionState },
): VerificationResult {
  const counter = facts && state.counters.get(facts.keyId);
  if (!facts || !counter) return notFound;
  const rejection = checkKey(facts, verification, state);
  const consumerCounter = facts.consumer?.limits.length ? state.counters.get(facts.consumer.id) : undefined;
  const counters = consumerCounter ? [counter, consumerCounter] : [counter];
  // Most keys have neither limits nor credits, and need none of what follows.
  const isMetered =
    facts.limits.length > 0 || counter.meters.balance !== null || consumerCounter !== undefined;
  // A rejected verification spends nothing, but its result has the state of the meters.
  const charged = rejection ? withoutCost(verification) : verification;
  const spending = isMetered
    ? spend(listCharges(facts, charged, { own: counter, shared: consumerCounter }), state.now)
    : nothingSpent;
  const code = rejection ?? codes[spending.outcome];
  // A limit that is exceeded can change its window, although nothing is spent.
  if (!rejection) applySpending(counters, spending);
  const isUse = code === "VALID" && hasCost(verification);
  if (isUse) addUse(counter, facts);
  // A check isn't a use, but the consumer has the secret.
  else if (code === "VALID" && facts.isUnusedSecret) markSecretUsed(counter);
  const { limits, remainingCredits } = spending;
  return {
    code,
    key: describeKey(facts),
    limits: limits.map(describeLimit),
    remainingCredits,
    isUse,
    apiKeyUse: isUse ? describeUse(facts, verification.digest) : undefined,
  };
}

/** The use of an API key by its owner, as if the owner had sent a request. */
function describeUse({ keyId, keyspaceId, owner, overlapEndsAt }: VerifiableKey, digest: string | undefined) {
  if (keyspaceId !== null) return undefined;
  return {
    keyId: keyId as KeyId, // A key without a keyspace is an API key, whose owner is a user.
    userId: owner.id as UserId,
    formerSecret: overlapEndsAt === null ? undefined : digest,
  };
}

const codes = { spent: "VALID", "rate-limited": "RATE_LIMITED", "usage-exceeded": "USAGE_EXCEEDED" } as const;

/** Whether a verification changes nothing in the key's counter, whatever its meters allow, because the key is invalid. */
export function isInvalid(
  facts: VerifiableKey,
  verification: Verification,
  state: Pick<DecisionState, "hasPassed">,
): boolean {
  return checkKey(facts, verification, state) !== undefined;
}

/** Why a key is invalid, whatever its meters allow; undefined if it is valid. */
function checkKey(
  facts: VerifiableKey,
  { permissions, clientAddress }: Verification,
  { hasPassed }: Pick<DecisionState, "hasPassed">,
) {
  if (facts.isDisabled) return "DISABLED";
  if (facts.expiresAt !== null && hasPassed(facts.expiresAt)) return "EXPIRED";
  const { allowsAddress } = facts;
  if (allowsAddress && (clientAddress === undefined || !allowsAddress(clientAddress))) return "FORBIDDEN";
  if (permissions && !satisfies(facts.grantedPermissions, permissions)) return "INSUFFICIENT_PERMISSIONS";
  return undefined;
}

/** The meters of the key and of its consumer that the verification is charged to. */
function listCharges(
  facts: VerifiableKey,
  { cost, limits }: Verification,
  { own, shared }: { readonly own: Counter; readonly shared: Counter | undefined },
): Charge[] {
  const chosen = (all: readonly NamedLimit[]) =>
    all.flatMap((limit) => {
      const named = limits.find(({ name }) => name === publicNameOf(limit));
      return limit.appliesAlways || named ? [{ limit, cost: named?.cost ?? cost }] : [];
    });
  const ofKey = {
    state: own.meters,
    limits: chosen(facts.limits),
    configured: facts.keyspaceId === null ? undefined : facts.limits,
    credits: { cost, refill: facts.refill },
  };
  if (!shared || !facts.consumer) return [ofKey];
  const ofConsumer = {
    state: shared.meters,
    limits: chosen(facts.consumer.limits),
    // Its limits were confirmed before its counter was locked, so another node can already have charged a limit that was added since.
    configured: undefined,
    credits: undefined,
  };
  return [ofKey, ofConsumer];
}

/** Counts a use of a key. */
export function addUse(counter: Counter, { isUnusedSecret }: { readonly isUnusedSecret: boolean }): void {
  counter.uses += 1;
  counter.isChanged = true;
  if (isUnusedSecret) markSecretUsed(counter);
}

function markSecretUsed(counter: Counter): void {
  counter.isSecretUsed = true;
  counter.isChanged = true;
}

/** Changes the meters of counters to those after a spending, in the order of its charges. */
export function applySpending(counters: readonly Counter[], { states }: Spending): void {
  for (const [index, counter] of counters.entries()) {
    const meters = states[index];
    if (!meters || meters === counter.meters) continue;
    counter.meters = meters;
    counter.isChanged = true;
  }
}

function describeLimit(limit: LimitResult): LimitResult {
  return { ...limit, name: publicNameOf(limit) };
}

/** The name of a limit in requests and results: `key` for the only limit of an API key. */
export function publicNameOf({ name }: Pick<NamedLimit, "name">): string {
  return name === apiKeyLimitName ? "key" : name;
}

/** What results say about keys, created once per facts, so that a presenter can cache the text of each object. */
const descriptions = new WeakMap<VerifiableKey, VerifiedKey>();

function describeKey(facts: VerifiableKey): VerifiedKey {
  const known = descriptions.get(facts);
  if (known) return known;
  const { keyId, keyspaceId, workspaceId, consumer, name, meta, permissions, expiresAt } = facts;
  const description = {
    keyId,
    keyspaceId,
    workspaceId,
    consumerId: consumer?.id ?? null,
    externalId: consumer?.externalId ?? null,
    name,
    meta,
    permissions,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  };
  descriptions.set(facts, description);
  return description;
}

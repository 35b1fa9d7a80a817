// What verifications of the keys of one keyspace, and of a key of another workspace, must return, written independently of the
// product. Times are in milliseconds since the epoch, by the database's clock.

import { latestRefill, type RefillModel } from "./latest-refill.ts";

const hourMs = 3_600_000;
/** How much longer than a new window an open one can last. */
const toleranceMs = 2_000;

/** Every window lasts an hour. */
export interface LimitModel {
  readonly name: string;
  readonly quota: number;
  readonly appliesAlways: boolean;
}

/** The permissions of a key: `documents.*`, `*`, only `documents.read`, or none. */
export type PermissionsModel = "documents" | "all" | "read" | "none";

/** What a verification requires: to read and write documents, to read them and `admin`, or to read them or `admin`. */
export type QueryModel = "write" | "admin" | "either";

const permitted = {
  documents: ["write", "either"],
  all: ["write", "admin", "either"],
  read: ["either"],
  none: [],
} as const satisfies Record<PermissionsModel, readonly QueryModel[]>;

/** The counter of a key or consumer. */
interface CounterModel {
  windows: Map<string, { readonly endsAt: number; readonly spent: number }>;
  credits: { readonly remaining: number; readonly refilledAt: number } | null;
}

export interface ConsumerModel {
  readonly counter: CounterModel;
  limits: readonly LimitModel[];
}

export interface KeyModel {
  readonly counter: CounterModel;
  readonly consumer: ConsumerModel | undefined;
  /** Whether it belongs to the other workspace, which is never disabled, like its keyspace. */
  readonly isElsewhere: boolean;
  isDeleted: boolean;
  isDisabled: boolean;
  expiresAt: number | null;
  /** Whether its only IP range is the one of the addresses that are inside. */
  hasIpRange: boolean;
  permissions: PermissionsModel;
  limits: readonly LimitModel[];
  refill: RefillModel | null;
  /** By the index of the secret: until when an old one is valid. The last one is the current one. */
  validUntil: number[];
  hasUnusedSecret: boolean;
  uses: number;
}

/** The IP address of the consumer: inside or outside of the IP range of keys; undefined for none. */
export type AddressModel = "inside" | "outside" | undefined;

/** A key that has or had a secret, and the index of the secret. */
export interface CopyModel {
  readonly key: KeyModel;
  readonly secret: number;
}

export interface VerificationModel {
  /** The keys that have or had the presented secret in the named workspace, or in any, oldest first. */
  readonly copies: readonly CopyModel[];
  readonly cost: number;
  readonly query: QueryModel;
  readonly address: AddressModel;
  /** The named limit, with the cost of its own if it has one. */
  readonly limit: { readonly name: string; readonly cost: number | undefined } | undefined;
}

/** The part of a response that the model predicts. */
export interface ResultModel {
  readonly code: string;
  readonly credits: number | null;
  readonly limits: readonly {
    readonly name: string;
    readonly quota: number;
    readonly remaining: number;
    /** To five minutes: the request arrives a little later than the model assumes. */
    readonly resetsInMinutes: number;
    readonly isExceeded: boolean;
  }[];
}

export function createCounter(credits: number | null, now: number): CounterModel {
  return {
    windows: new Map(),
    credits: credits === null ? null : { remaining: credits, refilledAt: now },
  };
}

/** The status and the code of an error, or the result of each verification of a request. */
export type AnswerModel = string | readonly ResultModel[];

/** What verifications depend on, apart from the keys: the time, and what all keys of the keyspace depend on. */
export interface StateModel {
  readonly now: number;
  readonly isKeyspaceUsable: boolean;
  readonly isCallerDisabled: boolean;
}

/**
 * Answers a request, and spends what its verifications cost.
 * @param spent the keys that requests with the same `Idempotency-Key` have spent from, by the position of the verification;
 *   undefined for a request without one. This request is added.
 */
export function answer(
  verifications: readonly VerificationModel[],
  state: StateModel,
  spent?: (KeyModel | undefined)[],
): AnswerModel {
  if (state.isCallerDisabled) return "403 FORBIDDEN";
  if (verifications.some((verification) => hasUnknownLimit(verification, state.now)))
    return "400 BAD_REQUEST";
  return verifications.map((verification, position) => {
    const { limit } = verification;
    const copy = findCopy(verification, state.now);
    if (!copy) return notFound;
    const wasSpent = spent?.[position] !== undefined;
    const free = { ...verification, cost: 0, limit: limit && { ...limit, cost: 0 } };
    const result = verify(copy, wasSpent ? free : verification, state);
    if (spent && result.code === "VALID") spent[position] ??= copy.key;
    return result;
  });
}

const notFound: ResultModel = { code: "NOT_FOUND", credits: null, limits: [] };

/** The oldest copy whose key wasn't deleted, and whose secret wasn't replaced or is still in its overlap. */
function findCopy({ copies }: VerificationModel, now: number): CopyModel | undefined {
  return copies.find(
    ({ key, secret }) => !key.isDeleted && (isCurrent(key, secret) || (key.validUntil[secret] ?? 0) > now),
  );
}

const isCurrent = (key: KeyModel, secret: number): boolean => secret === key.validUntil.length - 1;

function hasUnknownLimit(verification: VerificationModel, now: number): boolean {
  const { limit } = verification;
  const key = findCopy(verification, now)?.key;
  if (!limit || !key) return false;
  return ![...key.limits, ...(key.consumer?.limits ?? [])].some(({ name }) => name === limit.name);
}

interface Charge {
  readonly counter: CounterModel;
  readonly limit: LimitModel;
  readonly cost: number;
  readonly endsAt: number;
  readonly spent: number;
}

/** Verifies a key, and spends what it costs. */
function verify(
  { key, secret }: CopyModel,
  { cost, query, address, limit }: VerificationModel,
  { now, isKeyspaceUsable }: StateModel,
): ResultModel {
  const rejection = findRejection(key, { now, isKeyspaceUsable, query, address });
  const chargeOf = (counter: CounterModel) => (one: LimitModel) => {
    const isNamed = limit?.name === one.name;
    if (!one.appliesAlways && !isNamed) return [];
    const window = counter.windows.get(one.name);
    const isOpen = window !== undefined && window.endsAt > now;
    return [
      {
        counter,
        limit: one,
        cost: rejection ? 0 : isNamed ? (limit.cost ?? cost) : cost,
        endsAt: isOpen ? Math.min(window.endsAt, now + hourMs + toleranceMs) : now + hourMs,
        spent: isOpen ? window.spent : 0,
      },
    ];
  };
  const charges: Charge[] = key.limits.flatMap(chargeOf(key.counter));
  if (key.consumer) charges.push(...key.consumer.limits.flatMap(chargeOf(key.consumer.counter)));
  const credits = refilled(key, now);
  const isOverLimit = charges.some((charge) => isExceeded(charge));
  const isExhausted = !rejection && credits !== null && credits.remaining < cost;
  const code = rejection ?? (isOverLimit ? "RATE_LIMITED" : isExhausted ? "USAGE_EXCEEDED" : "VALID");
  const isUse = cost > 0 || (limit?.cost ?? 0) > 0;
  if (code === "VALID") spend(key, { charges, credits, cost, isUse, isCurrent: isCurrent(key, secret), now });
  else if (!rejection) shorten(charges, now);
  return {
    code,
    credits: credits && credits.remaining - (code === "VALID" ? cost : 0),
    limits: charges.map((charge) => ({
      name: charge.limit.name,
      quota: charge.limit.quota,
      remaining: Math.max(0, charge.limit.quota - charge.spent - (code === "VALID" ? charge.cost : 0)),
      resetsInMinutes: toFiveMinutes(
        charge.spent + (code === "VALID" ? charge.cost : 0) > 0 ? charge.endsAt - now : 0,
      ),
      isExceeded: isExceeded(charge),
    })),
  };
}

/** Rounds a time in milliseconds to five minutes. Times of scenarios are near multiples of a minute, not in the middle. */
export function toFiveMinutes(milliseconds: number): number {
  return 5 * Math.round(milliseconds / 300_000);
}

const isExceeded = ({ cost, spent, limit }: Charge): boolean => cost > 0 && spent + cost > limit.quota;

function findRejection(
  key: KeyModel,
  facts: Pick<StateModel, "now" | "isKeyspaceUsable"> & Pick<VerificationModel, "query" | "address">,
): string | undefined {
  if (key.isDisabled || !(key.isElsewhere || facts.isKeyspaceUsable)) return "DISABLED";
  if (key.expiresAt !== null && key.expiresAt <= facts.now) return "EXPIRED";
  if (key.hasIpRange && facts.address !== "inside") return "FORBIDDEN";
  const isPermitted = permitted[key.permissions].some((query) => query === facts.query);
  return isPermitted ? undefined : "INSUFFICIENT_PERMISSIONS";
}

function spend(
  key: KeyModel,
  {
    charges,
    credits,
    cost,
    isUse,
    isCurrent,
    now,
  }: {
    readonly charges: readonly Charge[];
    readonly credits: CounterModel["credits"];
    readonly cost: number;
    readonly isUse: boolean;
    readonly isCurrent: boolean;
    readonly now: number;
  },
): void {
  const isWritten = new Set<CounterModel>();
  for (const charge of charges) {
    if (charge.cost === 0) continue;
    isWritten.add(charge.counter);
    charge.counter.windows.set(charge.limit.name, {
      endsAt: charge.endsAt,
      spent: charge.spent + charge.cost,
    });
  }
  if (isUse || credits !== key.counter.credits || (isCurrent && key.hasUnusedSecret))
    isWritten.add(key.counter);
  key.counter.credits = credits && { ...credits, remaining: credits.remaining - cost };
  if (isCurrent) key.hasUnusedSecret = false;
  if (isUse) key.uses += 1;
  for (const counter of isWritten) removeEnded(counter, now);
}

/** After the clock was set back, a rejection stores that the windows end earlier. */
function shorten(charges: readonly Charge[], now: number): void {
  for (const { counter, limit, endsAt, spent } of charges) {
    if ((counter.windows.get(limit.name)?.endsAt ?? 0) <= endsAt) continue;
    counter.windows.set(limit.name, { endsAt, spent });
    removeEnded(counter, now);
  }
}

/** A limit that is removed and added again starts with nothing spent. */
export function removeFormer(counter: CounterModel, limits: readonly LimitModel[]): void {
  const names = new Set(limits.map(({ name }) => name));
  counter.windows = new Map([...counter.windows].filter(([name]) => names.has(name)));
}

/** Windows that have ended are not stored again. */
function removeEnded(counter: CounterModel, now: number): void {
  counter.windows = new Map([...counter.windows].filter(([, { endsAt }]) => endsAt > now));
}

/**
 * Sets a balance, or adds to it, after a refill that is due.
 * @returns the new balance; undefined if nothing changes, because it would be negative or there is none to add to.
 */
export function changeBalance(
  key: KeyModel,
  change: { readonly set: number } | { readonly add: number },
  now: number,
): number | undefined {
  const before = refilled(key, now);
  if ("set" in change) key.counter.credits = { remaining: change.set, refilledAt: now };
  else {
    if (!before || before.remaining + change.add < 0) return undefined;
    key.counter.credits = { ...before, remaining: before.remaining + change.add };
  }
  return key.counter.credits.remaining;
}

function refilled({ counter: { credits }, refill }: KeyModel, now: number): CounterModel["credits"] {
  if (!credits || !refill) return credits;
  const latest = latestRefill(refill, now);
  if (latest <= credits.refilledAt) return credits;
  return { remaining: Math.max(credits.remaining, refill.amount), refilledAt: latest };
}

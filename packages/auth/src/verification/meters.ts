import type { NamedLimit, Refill } from "@latchkey/db/issued-key-settings";
import { windowToleranceSeconds } from "../admission/limit-window.ts";

/** The window of a rate limit. A window starts with the first cost spent after the previous window ended. */
export interface Window {
  /** In milliseconds since the epoch, by the database's clock. */
  readonly endsAt: number;
  readonly spent: number;
}

/** A balance of credits, and when it was last refilled, in milliseconds since the epoch. */
export interface Balance {
  readonly remaining: number;
  readonly refilledAt: number;
}

/** What a key or consumer has spent: the row that is locked while a batch is decided. */
export interface MeterState {
  /** By the names of the limits. */
  readonly windows: ReadonlyMap<string, Window>;
  /** Null for a key without credits. */
  readonly balance: Balance | null;
}

/** A limit that applies, whether always or because the verification names it. */
type AppliedLimit = Omit<NamedLimit, "appliesAlways">;

/** The meters of one key or consumer that one verification is charged to. */
export interface Charge {
  readonly state: MeterState;
  readonly limits: readonly { readonly limit: AppliedLimit; readonly cost: number }[];
  /**
   * All limits that the key has. A charge removes the windows of others, which earlier versions kept when the limits of a key
   * changed. Undefined to keep all windows: an API key also has one for its `Idempotency-Key`s, and those of a consumer are removed
   * when its limits change.
   */
  readonly configured: readonly Pick<NamedLimit, "name">[] | undefined;
  readonly credits: { readonly cost: number; readonly refill: Refill | null } | undefined;
}

/** The state of a limit after a verification. */
export interface LimitResult {
  readonly name: string;
  readonly quota: number;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up; 0 if no window is open. */
  readonly resetsInSeconds: number;
  /** Whether this limit rejected the verification. */
  readonly isExceeded: boolean;
}

/** What one verification spent. */
export interface Spending {
  readonly outcome: "spent" | "rate-limited" | "usage-exceeded";
  /**
   * The new state of each charge, in the order of the charges. If nothing was spent, it differs only in windows that end earlier,
   * because the clock was set back or a limit's window was shortened.
   */
  readonly states: readonly MeterState[];
  /** The limits of all charges, in their order. */
  readonly limits: readonly LimitResult[];
  /** The balance of the charge with credits; null without one. */
  readonly remainingCredits: number | null;
}

/**
 * Spends the costs of one verification from all meters, or nothing. Pure: the caller locks the rows of the states and passes
 * the database's time. Rate limits are checked before credits. A cost of 0 checks without spending, and is never rejected.
 * @param now in milliseconds since the epoch, read after the rows were locked.
 */
export function spend(charges: readonly Charge[], now: number): Spending {
  const opened = charges.map((charge) => openCharge(charge, now));
  const isLimited = opened.some(({ limits }) => limits.some(isExceeded));
  const isExhausted = opened.some(({ balance, cost }) => balance !== null && balance.remaining < cost);
  const outcome = isLimited ? "rate-limited" : isExhausted ? "usage-exceeded" : "spent";
  const isSpent = outcome === "spent";
  const [withCredits] = opened.filter(({ balance }) => balance !== null);
  return {
    outcome,
    states: opened.map(isSpent ? charged : shortened),
    limits: opened.flatMap(({ limits }) => limits.map((limit) => describe(limit, { isSpent, now }))),
    remainingCredits: withCredits?.balance
      ? withCredits.balance.remaining - (isSpent ? withCredits.cost : 0)
      : null,
  };
}

/** A limit with its open window, and the cost to charge to it. */
interface OpenLimit {
  readonly limit: AppliedLimit;
  readonly cost: number;
  readonly window: Window;
}

interface OpenCharge {
  readonly state: MeterState;
  readonly limits: readonly OpenLimit[];
  readonly configured: Charge["configured"];
  readonly balance: Balance | null;
  readonly cost: number;
}

function openCharge({ state, limits, configured, credits }: Charge, now: number): OpenCharge {
  return {
    state,
    limits: limits.map(({ limit, cost }) => ({
      limit,
      cost,
      window: openWindow(limit, { window: state.windows.get(limit.name), now }),
    })),
    configured,
    balance: credits && state.balance ? refillBalance(state.balance, credits.refill, now) : state.balance,
    cost: credits?.cost ?? 0,
  };
}

/**
 * The window that is open now, or a new one. If the clock was set back or the limit's window was shortened, the open window
 * ends at most {@link windowToleranceSeconds} later than a new one, as in admission, and keeps what was spent.
 */
function openWindow(
  { windowSeconds }: AppliedLimit,
  { window, now }: { readonly window: Window | undefined; readonly now: number },
): Window {
  const latestEnd = now + windowSeconds * 1_000;
  return window && window.endsAt > now
    ? { endsAt: Math.min(window.endsAt, latestEnd + windowToleranceSeconds * 1_000), spent: window.spent }
    : { endsAt: latestEnd, spent: 0 };
}

function isExceeded({ limit, cost, window }: OpenLimit): boolean {
  return cost > 0 && window.spent + cost > limit.quota;
}

function charged({ state, limits, configured, balance, cost }: OpenCharge): MeterState {
  const isUnchanged = cost === 0 && balance === state.balance && limits.every(({ cost }) => cost === 0);
  if (isUnchanged) return state;
  const windows = new Map(state.windows);
  if (configured)
    for (const name of state.windows.keys())
      if (!configured.some((limit) => limit.name === name)) windows.delete(name);
  for (const { limit, window, cost: limitCost } of limits) {
    // A cost of 0 must not start a window.
    if (limitCost > 0) windows.set(limit.name, { ...window, spent: window.spent + limitCost });
  }
  return {
    windows,
    balance: balance && { ...balance, remaining: balance.remaining - cost },
  };
}

/**
 * The state after a rejection. Without storing the earlier end, every rejection would postpone it, and a consumer that waits until
 * the window ends would be rejected again.
 */
function shortened({ state, limits }: OpenCharge): MeterState {
  const changed = limits.filter(
    ({ limit, window }) =>
      window.endsAt < (state.windows.get(limit.name)?.endsAt ?? Number.NEGATIVE_INFINITY),
  );
  if (changed.length === 0) return state;
  const windows = new Map(state.windows);
  for (const { limit, window } of changed) windows.set(limit.name, window);
  return { ...state, windows };
}

function describe(
  open: OpenLimit,
  { isSpent, now }: { readonly isSpent: boolean; readonly now: number },
): LimitResult {
  const { limit, cost, window } = open;
  const spent = window.spent + (isSpent ? cost : 0);
  return {
    name: limit.name,
    quota: limit.quota,
    // The quota can have been lowered below what was spent.
    remaining: Math.max(0, limit.quota - spent),
    resetsInSeconds: spent > 0 ? Math.max(1, Math.ceil((window.endsAt - now) / 1_000)) : 0,
    isExceeded: isExceeded(open),
  };
}

/**
 * The balance after the refill that is due now, if any. A refill raises the balance to its amount and never lowers it. Each
 * time of a refill is applied once, even if the clock is set back past it.
 */
export function refillBalance(balance: Balance, refill: Refill | null, now: number): Balance {
  if (!refill) return balance;
  const refilledAt = latestRefill(refill, now);
  if (refilledAt <= balance.refilledAt) return balance;
  return { remaining: Math.max(balance.remaining, refill.amount), refilledAt };
}

const dayMs = 86_400_000;

/** The latest time of a refill that is not after `now`, in milliseconds since the epoch. */
export function latestRefill({ interval, day }: Refill, now: number): number {
  if (interval === "daily") return Math.floor(now / dayMs) * dayMs;
  const date = new Date(now);
  const inMonth = (month: number): number => {
    // Day 0 of the following month is the last day of the month.
    const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
    return Date.UTC(date.getUTCFullYear(), month, Math.min(day ?? 1, lastDay));
  };
  const thisMonth = inMonth(date.getUTCMonth());
  return thisMonth <= now ? thisMonth : inMonth(date.getUTCMonth() - 1);
}

import { expect } from "vitest";
import type { Outcome } from "./load.ts";

/** What became of the requests of a fault. */
export interface Ledger {
  /** Requests that were answered 200. */
  readonly answered: number;
  /** Uses that the database holds. */
  readonly counted: number;
  /** Requests that were sent. */
  readonly received: number;
}

/** Callers were promised an answer within so many milliseconds, whatever the database does. */
export const promisedMs = 2_000;

/** Prints the line of a fault, and expects that no use was answered without being counted, nor counted unasked. */
export function closeLedger(fault: string, ledger: Ledger, remark?: string): void {
  const { answered, counted, received } = ledger;
  const line = `${fault}: answered ${answered}, counted ${counted}, received ${received}`;
  console.info(remark ? `${line}; ${remark}` : line);
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(counted);
  expect(counted).toBeLessThanOrEqual(received);
}

/** How many of the outcomes had each status, or which error in place of one. */
export function countStatuses(
  outcomes: readonly Pick<Outcome, "status" | "errorCode">[],
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status, errorCode } of outcomes) {
    const name = String(status ?? errorCode);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** How many of the outcomes are a 200. */
export function countAnswered(outcomes: readonly Outcome[]): number {
  return countStatuses(outcomes)["200"] ?? 0;
}

/** The longest that a request took, in milliseconds. */
export function slowestMs(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((slowest, { sentAt, endedAt }) => Math.max(slowest, endedAt - sentAt), 0);
}

/** The time within which this share of the requests (0.5 for the median) was answered, in milliseconds. */
export function quantileMs(outcomes: readonly Outcome[], share: number): number {
  const times = outcomes.map(({ sentAt, endedAt }) => endedAt - sentAt).sort((one, other) => one - other);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
}

/**
 * Expects that each request was answered in the time promised: 200, or 503 with word of when to come again.
 * @param moreMs the time, in milliseconds, that the test's own crowd takes from the node.
 */
export function expectPunctual(outcomes: readonly Outcome[], moreMs = 0): void {
  expect(outcomes.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  expect(outcomes.filter(({ status, retryAfter }) => status === 503 && retryAfter !== "1")).toEqual([]);
  expect(slowestMs(outcomes)).toBeLessThan(promisedMs + moreMs);
}

/** Expects that of requests sent while nothing could be counted none was admitted, and that there were some. */
export function expectAllRefused(outcomes: readonly Outcome[]): void {
  expect(outcomes.length).toBeGreaterThan(0);
  expect(countStatuses(outcomes)).toEqual({ 503: outcomes.length });
}

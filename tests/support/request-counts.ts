import { expect } from "vitest";
import type { Outcome } from "./load.ts";
import { busyMs } from "./machine-stall.ts";

/** The outcomes of the requests during a fault. */
export interface RequestCounts {
  /** Requests that were answered 200. */
  readonly answered: number;
  /** Uses counted in the database. */
  readonly counted: number;
  /** Requests that were sent. */
  readonly received: number;
}

/** The guaranteed response time, in milliseconds, whatever the database does. */
export const deadlineMs = 2_000;

/**
 * Prints a line about a fault. Expects that each 200 was counted, and that no more uses were counted than requests
 * sent.
 */
export function verifyCounts(fault: string, counts: RequestCounts, remark?: string): void {
  const { answered, counted, received } = counts;
  const line = `${fault}: answered ${answered}, counted ${counted}, received ${received}`;
  console.info(remark ? `${line}; ${remark}` : line);
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(counted);
  expect(counted).toBeLessThanOrEqual(received);
}

/** Counts the outcomes by status, or by error if there was no response. */
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

/** Counts the outcomes with status 200. */
export function countAnswered(outcomes: readonly Outcome[]): number {
  return countStatuses(outcomes)["200"] ?? 0;
}

/** The duration of the longest request, in milliseconds. */
export function slowestMs(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((slowest, { sentAt, endedAt }) => Math.max(slowest, endedAt - sentAt), 0);
}

/** The quantile of the response times (0.5 for the median), in milliseconds. */
export function quantileMs(outcomes: readonly Pick<Outcome, "sentAt" | "endedAt">[], share: number): number {
  const times = outcomes.map(({ sentAt, endedAt }) => endedAt - sentAt).sort((one, other) => one - other);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
}

/**
 * Expects that each request got a response within the guaranteed time: 200, or 503 with `Retry-After`.
 * @param stallMs how long the machine delays responses that wait for nothing, in milliseconds. It delays a request, and
 *   again the response that the deadline triggers.
 */
export function expectWithinDeadline(outcomes: readonly Outcome[], stallMs = 0): void {
  expect(countStatuses(outcomes.filter(({ status }) => status !== 200 && status !== 503))).toEqual({});
  expect(outcomes.filter(({ status, retryAfter }) => status === 503 && retryAfter !== "1")).toEqual([]);
  expect(slowestMs(outcomes)).toBeLessThan(deadlineMs + 2 * stallMs);
}

/**
 * Expects that each request was admitted. On a busy machine, some get 503 at their deadline instead.
 * @param stallMs how long the machine delayed responses that wait for nothing, in milliseconds.
 */
export function expectAllAdmitted(outcomes: readonly Outcome[], stallMs: number): void {
  expect(countAnswered(outcomes)).toBeGreaterThan(0);
  if (stallMs < busyMs) expect(countStatuses(outcomes)).toEqual({ 200: outcomes.length });
  else expectWithinDeadline(outcomes, stallMs);
}

/**
 * Expects that there were requests, and that none was admitted, because nothing could be counted when they were
 * sent.
 */
export function expectAllUnavailable(outcomes: readonly Outcome[]): void {
  expect(outcomes.length).toBeGreaterThan(0);
  expect(countStatuses(outcomes)).toEqual({ 503: outcomes.length });
}

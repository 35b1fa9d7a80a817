import type { Refill } from "../issued-key-settings.ts";

const daily = { interval: "daily", day: null } as const;
const monthly = (day: number) => ({ interval: "monthly", day }) as const;

/** When credits were last refilled at a time. The function in the database and the one in TypeScript must both agree. */
export const refillCases: readonly (readonly [refill: Omit<Refill, "amount">, at: string, latest: string])[] =
  [
    [daily, "2027-03-01T00:00:00.000Z", "2027-03-01T00:00:00.000Z"],
    [daily, "2027-03-01T23:59:59.999Z", "2027-03-01T00:00:00.000Z"],
    [monthly(1), "2027-03-01T00:00:00.000Z", "2027-03-01T00:00:00.000Z"],
    [monthly(1), "2026-05-15T12:00:00.000Z", "2026-05-01T00:00:00.000Z"],
    [monthly(15), "2027-03-14T23:59:59.999Z", "2027-02-15T00:00:00.000Z"],
    [monthly(15), "2027-03-15T00:00:00.000Z", "2027-03-15T00:00:00.000Z"],
    [monthly(15), "2026-01-10T00:00:00.000Z", "2025-12-15T00:00:00.000Z"],
    [monthly(20), "2026-05-15T12:00:00.000Z", "2026-04-20T00:00:00.000Z"],
    [monthly(30), "2027-01-15T00:00:00.000Z", "2026-12-30T00:00:00.000Z"],
    [monthly(30), "2027-03-29T23:59:59.999Z", "2027-02-28T00:00:00.000Z"],
    // In a shorter month, the last day.
    [monthly(31), "2027-03-01T00:00:00.000Z", "2027-02-28T00:00:00.000Z"],
    [monthly(31), "2026-02-28T00:00:00.000Z", "2026-02-28T00:00:00.000Z"],
    [monthly(31), "2026-02-27T23:59:59.999Z", "2026-01-31T00:00:00.000Z"],
    [monthly(31), "2028-02-29T12:00:00.000Z", "2028-02-29T00:00:00.000Z"],
    [monthly(31), "2028-02-28T12:00:00.000Z", "2028-01-31T00:00:00.000Z"],
    [monthly(31), "2027-04-30T00:00:00.000Z", "2027-04-30T00:00:00.000Z"],
    // The last year of a century that is no leap year.
    [monthly(31), "2100-03-01T00:00:00.000Z", "2100-02-28T00:00:00.000Z"],
  ];

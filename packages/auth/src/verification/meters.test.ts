import type { NamedLimit } from "@latchkey/db/issued-key-settings";
import { refillCases } from "@latchkey/db/testing/refill-cases";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Charge, latestRefill, type MeterState, refillBalance, spend } from "./meters.ts";

const now = Date.UTC(2026, 4, 15, 12);
const unused: MeterState = { windows: new Map(), balance: null };

const perMinute = (quota: number, name = "requests"): NamedLimit => ({
  name,
  quota,
  windowSeconds: 60,
  appliesAlways: true,
});

const limited = (state: MeterState, limit: NamedLimit, cost = 1): Charge => ({
  state,
  limits: [{ limit, cost }],
  configured: [limit],
  credits: undefined,
});

const withCredits = (remaining: number, cost = 1): Charge => ({
  state: { windows: new Map(), balance: { remaining, refilledAt: 0 } },
  limits: [],
  configured: [],
  credits: { cost, refill: null },
});

describe("rate limits", () => {
  test("a window starts with the first cost, allows the quota, and ends after its length", () => {
    const limit = perMinute(2);
    const first = spend([limited(unused, limit)], now);
    expect(first.limits).toEqual([
      { name: "requests", quota: 2, remaining: 1, resetsInSeconds: 60, isExceeded: false },
    ]);
    const second = spend([limited(first.states[0] ?? unused, limit)], now + 30_000);
    expect(second).toMatchObject({ outcome: "spent", limits: [{ remaining: 0, resetsInSeconds: 30 }] });
    const third = spend([limited(second.states[0] ?? unused, limit)], now + 59_001);
    expect(third).toMatchObject({
      outcome: "rate-limited",
      limits: [{ remaining: 0, resetsInSeconds: 1, isExceeded: true }],
    });
    expect(third.states[0]).toBe(second.states[0]);
    const fourth = spend([limited(second.states[0] ?? unused, limit)], now + 60_000);
    expect(fourth).toMatchObject({ outcome: "spent", limits: [{ remaining: 1, resetsInSeconds: 60 }] });
  });

  test("a cost that does not fit is rejected, and a smaller one is allowed after it", () => {
    const limit = perMinute(10);
    const { states } = spend([limited(unused, limit, 8)], now);
    const [state = unused] = states;
    expect(spend([limited(state, limit, 3)], now).outcome).toBe("rate-limited");
    expect(spend([limited(state, limit, 2)], now).outcome).toBe("spent");
  });

  test("a cost of 0 is allowed past the quota and starts no window", () => {
    expect(spend([limited(unused, perMinute(1), 0)], now)).toEqual({
      outcome: "spent",
      states: [unused],
      limits: [{ name: "requests", quota: 1, remaining: 1, resetsInSeconds: 0, isExceeded: false }],
      remainingCredits: null,
    });
    for (const spent of [1, 9]) {
      const used = { windows: new Map([["requests", { endsAt: now + 5_000, spent }]]), balance: null };
      const { outcome, limits } = spend([limited(used, perMinute(1), 0)], now);
      expect([outcome, limits[0]?.isExceeded]).toEqual(["spent", false]);
    }
  });

  test("a cost of 0 starts no window, even if another limit is charged", () => {
    const limits = [
      { limit: perMinute(5, "charged"), cost: 1 },
      { limit: perMinute(5, "checked"), cost: 0 },
    ];
    const { states } = spend([{ state: unused, limits, configured: undefined, credits: undefined }], now);
    expect(states[0]?.windows).toEqual(new Map([["charged", { endsAt: now + 60_000, spent: 1 }]]));
  });

  test("a shorter window and a clock that was set back shorten the open window, which keeps what was spent", () => {
    const used = { windows: new Map([["requests", { endsAt: now + 3_600_000, spent: 3 }]]), balance: null };
    expect(spend([limited(used, perMinute(4))], now)).toMatchObject({
      limits: [{ remaining: 0, resetsInSeconds: 62 }],
    });
  });

  test("a rejection stores the earlier end of a window, so that it isn't postponed by further rejections", () => {
    const used = { windows: new Map([["requests", { endsAt: now + 3_600_000, spent: 4 }]]), balance: null };
    const { outcome, states } = spend([limited(used, perMinute(4))], now);
    expect(outcome).toBe("rate-limited");
    const [state = unused] = states;
    expect(state.windows.get("requests")).toEqual({ endsAt: now + 62_000, spent: 4 });
    expect(spend([limited(state, perMinute(4))], now + 61_999)).toMatchObject({
      outcome: "rate-limited",
      limits: [{ resetsInSeconds: 1 }],
    });
    expect(spend([limited(state, perMinute(4))], now + 62_000).outcome).toBe("spent");
  });

  test("a charge removes the windows of limits that no longer exist, and keeps those of limits that it isn't charged to", () => {
    const window = { endsAt: now + 5_000, spent: 1 };
    const state = {
      windows: new Map(["removed", "kept", "requests"].map((name) => [name, window])),
      balance: null,
    };
    const [limit, kept] = [perMinute(5), perMinute(5, "kept")];
    const charge: Charge = {
      state,
      limits: [{ limit, cost: 1 }],
      configured: [limit, kept],
      credits: undefined,
    };
    const namesAfter = (change: Partial<Charge>) => [
      ...(spend([{ ...charge, ...change }], now).states[0]?.windows.keys() ?? []),
    ];
    expect(namesAfter({})).toEqual(["kept", "requests"]);
    expect(namesAfter({ configured: undefined })).toEqual(["removed", "kept", "requests"]);
    expect(spend([{ ...charge, limits: [{ limit, cost: 0 }] }], now).states[0]).toBe(state);
    expect(state.windows.size).toBe(3);
  });

  test("a lowered quota has nothing left", () => {
    const used = { windows: new Map([["requests", { endsAt: now + 1_000, spent: 9 }]]), balance: null };
    expect(spend([limited(used, perMinute(4))], now)).toMatchObject({
      outcome: "rate-limited",
      limits: [{ remaining: 0 }],
    });
  });
});

describe("a verification without a cost", () => {
  const balance = { remaining: 5, refilledAt: Date.UTC(2026, 4, 14) };

  test("returns the same state, so that nothing has to be stored", () => {
    const state = { windows: new Map([["requests", { endsAt: now + 5_000, spent: 1 }]]), balance };
    const charge: Charge = {
      state,
      limits: [{ limit: perMinute(5), cost: 0 }],
      configured: [],
      credits: { cost: 0, refill: null },
    };
    const { outcome, states, remainingCredits } = spend([charge], now);
    expect([outcome, remainingCredits]).toEqual(["spent", 5]);
    expect(states[0]).toBe(state);
  });

  test("stores a refill that is due", () => {
    const refill = { amount: 100, interval: "daily", day: null } as const;
    const charge = {
      state: { windows: new Map(), balance },
      limits: [],
      configured: [],
      credits: { cost: 0, refill },
    };
    expect(spend([charge], now)).toMatchObject({
      remainingCredits: 100,
      states: [{ balance: { remaining: 100, refilledAt: Date.UTC(2026, 4, 15) } }],
    });
  });
});

describe("all or nothing", () => {
  test("nothing is spent if one of three limits rejects", () => {
    const full = { windows: new Map([["hour", { endsAt: now + 1_000, spent: 5 }]]), balance: null };
    const charge: Charge = {
      state: full,
      limits: [perMinute(5, "minute"), perMinute(5, "hour"), perMinute(5, "day")].map((limit) => ({
        limit,
        cost: 1,
      })),
      configured: undefined,
      credits: undefined,
    };
    const { outcome, states, limits } = spend([charge], now);
    expect(outcome).toBe("rate-limited");
    expect(states[0]).toBe(full);
    expect(limits.map(({ name, remaining, isExceeded }) => [name, remaining, isExceeded])).toEqual([
      ["minute", 5, false],
      ["hour", 0, true],
      ["day", 5, false],
    ]);
  });

  test("credits are not spent if the consumer's limit rejects, and the limit is not charged if credits are missing", () => {
    const exceeded = limited(unused, perMinute(1), 2);
    expect(spend([withCredits(5), exceeded], now)).toMatchObject({
      outcome: "rate-limited",
      remainingCredits: 5,
    });
    expect(spend([withCredits(0), limited(unused, perMinute(1))], now)).toMatchObject({
      outcome: "usage-exceeded",
      remainingCredits: 0,
      states: [{ balance: { remaining: 0 } }, unused],
    });
  });

  test("credits are found in any of the charges", () => {
    const { remainingCredits, states } = spend([limited(unused, perMinute(1)), withCredits(5)], now);
    expect(remainingCredits).toBe(4);
    expect(states.map(({ balance }) => balance?.remaining)).toEqual([undefined, 4]);
  });

  test("a balance that isn't charged is returned and stays the same", () => {
    const { state } = withCredits(5);
    const { remainingCredits, states } = spend([limited(state, perMinute(1))], now);
    expect(remainingCredits).toBe(5);
    expect(states[0]?.balance).toEqual(state.balance);
  });

  test("credits end at exactly 0", () => {
    expect(spend([withCredits(3, 3)], now)).toMatchObject({ outcome: "spent", remainingCredits: 0 });
    expect(spend([withCredits(3, 4)], now)).toMatchObject({
      outcome: "usage-exceeded",
      remainingCredits: 3,
    });
    expect(spend([withCredits(0, 0)], now)).toMatchObject({ outcome: "spent", remainingCredits: 0 });
  });

  test("any sequence of costs spends what a simple model allows, at any times", () => {
    const costs = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 70_000 }), cost: fc.integer({ min: 0, max: 6 }) }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(
        costs,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 60 }),
        (sequence, quota, credits) => {
          const limit = perMinute(quota);
          let state: MeterState = { windows: new Map(), balance: { remaining: credits, refilledAt: 0 } };
          let time = now;
          const model = { windowEnd: 0, spent: 0, credits };
          for (const { afterMs, cost } of sequence) {
            time += afterMs;
            const charge = {
              state,
              limits: [{ limit, cost }],
              configured: [limit],
              credits: { cost, refill: null },
            };
            const result = spend([charge], time);
            if (time >= model.windowEnd) model.spent = 0;
            const fits = cost === 0 || (model.spent + cost <= quota && cost <= model.credits);
            expect(result.outcome === "spent").toBe(fits);
            if (fits && cost > 0) {
              if (time >= model.windowEnd) model.windowEnd = time + 60_000;
              model.spent += cost;
              model.credits -= cost;
            }
            state = result.states[0] ?? state;
            expect(state.balance?.remaining).toBe(model.credits);
          }
        },
      ),
    );
  });
});

describe("refills", () => {
  const daily = { amount: 100, interval: "daily", day: 1 } as const;

  test.each(refillCases)("the latest refill of %j at %s was at %s", (refill, at, expected) => {
    expect(new Date(latestRefill({ amount: 100, ...refill }, Date.parse(at))).toISOString()).toBe(expected);
  });

  test("raises the balance at the boundary, once, and never lowers it", () => {
    const midnight = Date.UTC(2026, 4, 16);
    const balance = { remaining: 3, refilledAt: midnight - 86_400_000 };
    expect(refillBalance(balance, daily, midnight - 1)).toBe(balance);
    const refilled = refillBalance(balance, daily, midnight);
    expect(refilled).toEqual({ remaining: 100, refilledAt: midnight });
    expect(refillBalance({ ...refilled, remaining: 7 }, daily, midnight + 3_600_000).remaining).toBe(7);
    expect(refillBalance({ ...balance, remaining: 250 }, daily, midnight).remaining).toBe(250);
  });

  test("a clock that is set back does not refill again", () => {
    const midnight = Date.UTC(2026, 4, 16);
    const spentAgain = { remaining: 0, refilledAt: midnight };
    expect(refillBalance(spentAgain, daily, midnight - 1)).toBe(spentAgain);
    expect(refillBalance(spentAgain, daily, midnight)).toBe(spentAgain);
  });

  test("a refill that is due is spent in the same verification, and returned even if it is rejected", () => {
    const state: MeterState = { windows: new Map(), balance: { remaining: 0, refilledAt: 0 } };
    const charge = { state, limits: [], configured: [], credits: { cost: 1, refill: daily } };
    expect(spend([charge], now)).toMatchObject({
      outcome: "spent",
      remainingCredits: 99,
      states: [{ balance: { remaining: 99, refilledAt: Date.UTC(2026, 4, 15) } }],
    });
    expect(spend([charge, limited(unused, perMinute(1), 2)], now)).toMatchObject({
      outcome: "rate-limited",
      remainingCredits: 100,
      states: [{ balance: { remaining: 0 } }, unused],
    });
  });
});

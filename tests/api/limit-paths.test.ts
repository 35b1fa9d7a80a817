import fc from "fast-check";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { callApi, createKeyspace, issueKey, type Keyspace } from "../support/keyspace.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { installSteppedClock } from "../support/stepped-clock.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Admission counts a rate limit in SQL, verification in TypeScript. Both must allow the same requests at the same times. The
// database's clock stands still during a request, so that times are exact.

let instance: TestInstance;
let baseUrl: string;
let account: Account;
let keyspace: Keyspace;
let client: pg.Client;

beforeAll(async () => {
  instance = await createPreparedInstance();
  ({ baseUrl } = await instance.startInProcess());
  account = await signUp(baseUrl);
  keyspace = await createKeyspace(baseUrl, account);
});
afterAll(async () => {
  await client?.end();
  await instance?.close();
});

const limit = { quota: 3, windowSeconds: 60 };

async function createLimitedKey(): Promise<string> {
  const input = { name: "limited", settings: { limit } };
  const call = { path: "apiKeys.create", kind: "mutation", input, cookie: account.cookie } as const;
  const { data, code } = await callProcedure(baseUrl, call);
  if (!data) throw new Error(`No key was created: ${code}`);
  return (data as { readonly key: string }).key; // The router's type for this procedure.
}

/** What a request found out about the limit. */
interface Use {
  readonly isAllowed: boolean;
  readonly remaining: number;
  readonly resetsInSeconds: number;
}

async function admit(key: string): Promise<Use> {
  const response = await fetch(`${baseUrl}/open/global/config`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await response.arrayBuffer();
  const [, remaining, seconds] = /r=(\d+);t=(\d+)/.exec(response.headers.get("ratelimit") ?? "") ?? [];
  return {
    isAllowed: response.status === 200,
    remaining: Number(remaining),
    resetsInSeconds: Number(seconds),
  };
}

async function verify(key: string, workspaceId?: string): Promise<Use> {
  const { valid, limits } = await callApi<{
    readonly valid: boolean;
    readonly limits: readonly { readonly remaining: number; readonly resetsInSeconds: number }[];
  }>(keyspace, ["POST", "/keys/verify"], { key, ...(workspaceId && { workspaceId }) });
  const [state] = limits;
  return {
    isAllowed: valid,
    remaining: state?.remaining ?? Number.NaN,
    resetsInSeconds: state?.resetsInSeconds ?? Number.NaN,
  };
}

/** Stops the database's clock at a time, in milliseconds since the epoch. */
async function stopClockAt(time: number): Promise<void> {
  await client.query("update stopped_clock set now = to_timestamp($1::float8)", [time / 1_000]);
}

async function stopClock(): Promise<void> {
  const clock = await installSteppedClock(instance.cluster);
  await clock.close();
  client = await open(await connectionTo(instance.cluster));
  await client.query(`
    create table stopped_clock (now timestamptz not null);
    insert into stopped_clock values (pg_catalog.now());
    grant select on stopped_clock to public;
    create or replace function public.clock_timestamp() returns timestamptz language sql volatile
    as 'select now from public.stopped_clock'`);
}

/** Milliseconds between two requests. Windows last 60,000 ms. */
const histories: readonly (readonly number[])[] = [
  // The quota, a rejection, and the end of the window to a millisecond.
  [0, 0, 0, 0, 59_999, 1, 0, 0, 0],
  [0, 20_000, 20_000, 19_999, 1, 60_000, 0],
  // The clock is set back by more than a window, and by less.
  [0, 0, -600_000, 0, 59_999, 1, 1_999, 1, 0, 0, 0],
  [0, 0, 30_000, -20_000, 0, 49_999, 1, 2_000, 0, 0],
  [0, -500, 0, 59_999, 500, 1, 1_500, 0, 0, 0],
];

const randomHistory = fc.array(
  fc.constantFrom(0, 0, 0, 500, 20_000, 59_999, 60_000, 61_999, 62_000, -500, -30_000, -61_000, -600_000),
  { minLength: 12, maxLength: 12 },
);

test("a rate limit allows the same requests by admission and by verification, also after the clock is set back", async () => {
  const all = [...histories, ...fc.sample(randomHistory, 6)];
  const keys = [];
  for (const history of all)
    keys.push({
      history,
      admitted: await createLimitedKey(),
      verified: await createLimitedKey(),
      issued: (await issueKey(keyspace, { limits: [{ name: "requests", ...limit }] })).key,
    });
  await stopClock();
  let now = Date.now();
  for (const { history, admitted, verified, issued } of keys) {
    const uses: Record<"admitted" | "verified" | "issued", Use[]> = {
      admitted: [],
      verified: [],
      issued: [],
    };
    for (const milliseconds of history) {
      now += milliseconds;
      await stopClockAt(now);
      uses.admitted.push(await admit(admitted));
      uses.verified.push(await verify(verified, keyspace.workspaceId));
      uses.issued.push(await verify(issued));
    }
    expect({ history, uses: uses.verified }).toEqual({ history, uses: uses.admitted });
    expect({ history, uses: uses.issued }).toEqual({ history, uses: uses.admitted });
  }
}, 600_000);

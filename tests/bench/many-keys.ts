import { clientConfig } from "@latchkey/db/connection";
import pg from "pg";
import type { Page } from "playwright-core";
import { type Account, callProcedure, signIn, signUp } from "../support/account.ts";
import { startBrowser } from "../support/browser.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:keys`: measures how long a user with 100,000 keys waits for their list: the call alone, the list in
// the open app, and the list in a new page.

const keys = 100_000;
const repetitions = 15;
const pageSize = 25;
const lastPage = keys / pageSize;

/** How long the search field waits after the last key press, in milliseconds. */
const typingMilliseconds = 200;

/** A query of the list. */
interface ListQuery {
  readonly page: number;
  readonly search: string;
}

/** A series of queries. All are different, because the app shows cached results immediately. */
interface QuerySeries {
  readonly what: string;
  readonly at: (time: number) => ListQuery;
}

const steps: readonly QuerySeries[] = [
  { what: "the next page, at the beginning", at: (time) => ({ page: 2 + time, search: "" }) },
  { what: "the next page, in the middle", at: (time) => ({ page: lastPage / 2 + time, search: "" }) },
  {
    what: "the next page, at the end",
    at: (time) => ({ page: lastPage - repetitions + 1 + time, search: "" }),
  },
];

const searches: readonly QuerySeries[] = [
  // The API ignores case, so all of these find the same keys.
  {
    what: "a search that every key matches",
    at: (time) => ({ page: 1, search: capitalize("number", time) }),
  },
  {
    what: "a search that one key matches",
    at: (time) => ({ page: 1, search: `number ${matchingKey(time)}` }),
  },
  { what: "a search that no key matches", at: (time) => ({ page: 1, search: `nowhere ${time}` }) },
];

function matchingKey(time: number): number {
  return 77_777 + time;
}

/** Converts the letters to upper case whose bit in the number is 1. */
function capitalize(text: string, binary: number): string {
  return [...text].map((letter, index) => ((binary >> index) & 1 ? letter.toUpperCase() : letter)).join("");
}

function inputOf({ page, search }: ListQuery) {
  return { ...(search && { search }), page, pageSize };
}

/** Inserts the keys of every user with SQL, because creating them through the API would take too long. */
async function seed(cluster: string): Promise<void> {
  const client = new pg.Client(clientConfig(await connectionTo(cluster), "seed"));
  await client.connect();
  try {
    await client.query(
      `insert into api_keys (id, user_id, name, description, start, hash, created_at)
       select uuidv7(), users.id, 'Key number ' || n, 'For service ' || n % 977, 'lk_' || substr(md5(n::text), 1, 6),
         sha256(n::text::bytea), now() - n * interval '1 second'
       from users, generate_series(1, $1::int) n`,
      [keys],
    );
    await client.query("insert into key_counters (key_id) select id from api_keys order by id");
    await client.query("vacuum (analyze)");
  } finally {
    await client.end();
  }
}

async function timeCall(baseUrl: string, { cookie }: Account, query: ListQuery): Promise<number> {
  const startedAt = performance.now();
  const input = inputOf(query);
  const { status } = await callProcedure(baseUrl, { path: "apiKeys.list", kind: "query", input, cookie });
  if (status !== 200) throw new Error(`The list call returned ${status}.`);
  return performance.now() - startedAt;
}

/** The times of one wait, by the browser's clock. */
interface Wait {
  /** The time of the last click or key press. */
  readonly actedAt: number;
  readonly requestedAt: number;
  readonly paintedAt: number;
}

/**
 * Runs in the page before any other script. A list counts as painted when the task after its animation frame callbacks
 * runs: the browser renders the frame between the two.
 */
const watchList = `
  let actedAt = 0;
  const act = ({ timeStamp }) => { actedAt = timeStamp; };
  addEventListener("click", act, true);
  addEventListener("keydown", act, true);
  window.waitForList = (title) => new Promise((resolve) => {
    performance.clearResourceTimings();
    const observer = new MutationObserver(look);
    function look() {
      const shown = document.querySelector("main table[aria-busy=false] tbody th a, main h2");
      if (!shown || (title && shown.textContent !== title)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve({ actedAt, paintedAt: performance.now() })));
    }
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  });
  window.list = waitForList();`;

/** Runs in the page and returns the finished wait. Fails if the list came from the app's cache. */
function readWait(query: ListQuery): string {
  return `(async () => {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("The list wasn't shown.")), 10_000));
    const wait = await Promise.race([list, late]);
    const isOfList = ({ name }) => decodeURIComponent(name).includes(${JSON.stringify(JSON.stringify(inputOf(query)))});
    const request = performance.getEntriesByType("resource").find(isOfList);
    if (!request) throw new Error("The list was shown without a request.");
    return { ...wait, requestedAt: request.startTime };
  })()`;
}

/** The first key of a query's list, or the title of the empty list. */
function titleOf({ page, search }: ListQuery): string {
  if (search.startsWith("nowhere")) return `No key matches “${search}”`;
  const [number] = /\d+/.exec(search) ?? [(page - 1) * pageSize + 1];
  return `Key number ${number}`;
}

/** Performs an action that shows a list, and returns the times of the wait. */
async function watch(page: Page, query: ListQuery, action: () => Promise<void>): Promise<Wait> {
  await page.evaluate(`void (window.list = waitForList(${JSON.stringify(titleOf(query))}))`);
  await action();
  return await page.evaluate<Wait>(readWait(query));
}

/** Measures the time from the click on "Next page" until the page is painted. */
async function timeSteps(page: Page, baseUrl: string, { at }: QuerySeries): Promise<number[]> {
  const { page: first } = at(0);
  await page.goto(urlOf(baseUrl, { page: first - 1, search: "" }));
  const next = page.getByRole("navigation", { name: "Pages", exact: true }).getByLabel("Next page");
  return await repeat(async (time) => {
    const { actedAt, paintedAt } = await watch(page, at(time), () => next.click());
    return paintedAt - actedAt;
  });
}

/** Measures the time from the end of the search field's wait until the results are painted. */
async function timeSearch(page: Page, query: ListQuery): Promise<number> {
  const field = page.getByLabel("Search API keys");
  await field.selectText();
  const { actedAt, paintedAt } = await watch(page, query, () => field.pressSequentially(query.search));
  return paintedAt - actedAt - typingMilliseconds;
}

/** Measures the time from the request for the list until it is painted, in a new page. */
async function timeLoad(page: Page, baseUrl: string, query: ListQuery): Promise<number> {
  await page.goto(urlOf(baseUrl, query));
  const { requestedAt, paintedAt } = await page.evaluate<Wait>(readWait(query));
  return paintedAt - requestedAt;
}

function urlOf(baseUrl: string, { page, search }: ListQuery): string {
  const query = new URLSearchParams({
    ...(search && { q: search }),
    ...(page > 1 && { page: String(page) }),
  });
  return `${baseUrl}/account/api-keys?${query}`;
}

async function repeat<Result>(measure: (time: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let time = 0; time < repetitions; time += 1) results.push(await measure(time));
  return results;
}

await using stack = new AsyncDisposableStack();
const instance = await createTestInstance();
stack.defer(() => instance.close());
const { baseUrl } = await instance.start();
const account = await signUp(baseUrl);
await seed(instance.cluster);
const browser = await startBrowser();
stack.defer(() => browser.stop());
const { page } = await browser.open();
await page.addInitScript({ content: watchList });
const { cookie = "" } = await signIn(baseUrl, account);
const [name = "", value = ""] = cookie.split("=");
await page.context().addCookies([{ name, value, url: baseUrl }]);

const inApp: number[][] = [];
for (const series of steps) inApp.push(await timeSteps(page, baseUrl, series));
// Alternates between the searches, so that the list before always differs: rows that don't change would be painted
// faster.
const rounds = await repeat(async (time) => {
  const round: number[] = [];
  for (const { at } of searches) round.push(await timeSearch(page, at(time)));
  return round;
});
for (const index of searches.keys()) inApp.push(rounds.map((round) => round[index] ?? Number.NaN));

const rows: string[][] = [];
for (const [index, { what, at }] of [...steps, ...searches].entries()) {
  const calls = await repeat((time) => timeCall(baseUrl, account, at(time)));
  const loads = await repeat((time) => timeLoad(page, baseUrl, at(time)));
  rows.push([what, ...[calls, inApp[index] ?? [], loads].map((measured) => median(measured).toFixed(0))]);
}
console.info(`${keys.toLocaleString("en")} keys of one user; medians of ${repetitions}, in milliseconds.\n`);
console.info(renderTable(["", "call alone", "in the open app", "in a new page"], rows));

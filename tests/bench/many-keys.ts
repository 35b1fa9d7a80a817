import { clientConfig } from "@latchkey/db/connection";
import pg from "pg";
import type { Page } from "playwright-core";
import { type Account, callProcedure, signIn, signUp } from "../support/account.ts";
import { startBrowser } from "../support/browser.ts";
import { createPlace } from "../support/place.ts";
import { connectionTo } from "../support/postmaster.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:keys`: how long somebody with 100,000 keys waits for their list: for the call by itself, in the app that
// stands open, and on a page that is loaded anew.

const keys = 100_000;
const times = 15;
const pageSize = 25;
const lastPage = keys / pageSize;

/** For how long the search field waits for more to be typed. */
const typingMilliseconds = 200;

/** What the list is asked for. */
interface Look {
  readonly page: number;
  readonly search: string;
}

/** One look after the other, all different, because the app shows at once what it has shown before. */
interface Looks {
  readonly what: string;
  readonly at: (time: number) => Look;
}

const steps: readonly Looks[] = [
  { what: "the next page, from the first on", at: (time) => ({ page: 2 + time, search: "" }) },
  { what: "the next page, in the middle", at: (time) => ({ page: lastPage / 2 + time, search: "" }) },
  {
    what: "the next page, up to the last",
    at: (time) => ({ page: lastPage - times + 1 + time, search: "" }),
  },
];

const searches: readonly Looks[] = [
  // To the API all of these are the same.
  { what: "a search that every key fits", at: (time) => ({ page: 1, search: capitalize("number", time) }) },
  { what: "a search that one key fits", at: (time) => ({ page: 1, search: `number ${keyFound(time)}` }) },
  { what: "a search that no key fits", at: (time) => ({ page: 1, search: `nowhere ${time}` }) },
];

function keyFound(time: number): number {
  return 77_777 + time;
}

/** Puts the letters in upper case that are 1 in the binary number. */
function capitalize(text: string, binary: number): string {
  return [...text].map((letter, place) => ((binary >> place) & 1 ? letter.toUpperCase() : letter)).join("");
}

function inputOf({ page, search }: Look) {
  return { ...(search && { search }), page, pageSize };
}

/** Gives everybody there is so many keys, past the product, which would take its time. */
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

async function timeCall(baseUrl: string, { cookie }: Account, look: Look): Promise<number> {
  const startedAt = performance.now();
  const input = inputOf(look);
  const { status } = await callProcedure(baseUrl, { path: "apiKeys.list", kind: "query", input, cookie });
  if (status !== 200) throw new Error(`The list was answered ${status}.`);
  return performance.now() - startedAt;
}

/** Moments of one wait, by the browser's clock. */
interface Wait {
  /** Of the last click or key press. */
  readonly actedAt: number;
  readonly askedAt: number;
  readonly paintedAt: number;
}

/**
 * Runs in the page, before anything else there. A list counts as seen once the frame with it is painted: the frame
 * is made after the animation frame callbacks, and no other task runs before that is done.
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

/** Runs in the page: the wait, once it is over. Fails if the list came from what the app had in store. */
function readWait(look: Look): string {
  return `(async () => {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error("No list in sight.")), 10_000));
    const wait = await Promise.race([list, late]);
    const isOfList = ({ name }) => decodeURIComponent(name).includes(${JSON.stringify(JSON.stringify(inputOf(look)))});
    const request = performance.getEntriesByType("resource").find(isOfList);
    if (!request) throw new Error("The list came without being asked for.");
    return { ...wait, askedAt: request.startTime };
  })()`;
}

/** What the list of a look begins with, or what stands in its place. */
function titleOf({ page, search }: Look): string {
  if (search.startsWith("nowhere")) return `No key matches “${search}”`;
  const [number] = /\d+/.exec(search) ?? [(page - 1) * pageSize + 1];
  return `Key number ${number}`;
}

/** Does what is to lead to the list, and answers how long it took to be seen. */
async function watch(page: Page, look: Look, lead: () => Promise<void>): Promise<Wait> {
  await page.evaluate(`void (window.list = waitForList(${JSON.stringify(titleOf(look))}))`);
  await lead();
  return await page.evaluate<Wait>(readWait(look));
}

/** From the click for the next page until that is painted. */
async function timeSteps(page: Page, baseUrl: string, { at }: Looks): Promise<number[]> {
  const { page: first } = at(0);
  await page.goto(addressOf(baseUrl, { page: first - 1, search: "" }));
  const next = page.getByRole("navigation", { name: "Pages", exact: true }).getByLabel("Next page");
  return await repeat(async (time) => {
    const { actedAt, paintedAt } = await watch(page, at(time), () => next.click());
    return paintedAt - actedAt;
  });
}

/** From when the field waits no longer, which is a moment after the last key press, until what was found is painted. */
async function timeSearch(page: Page, look: Look): Promise<number> {
  const field = page.getByLabel("Search API keys");
  await field.selectText();
  const { actedAt, paintedAt } = await watch(page, look, () => field.pressSequentially(look.search));
  return paintedAt - actedAt - typingMilliseconds;
}

/** From asking for the list until it is painted, which has the app start in between. */
async function timeLoad(page: Page, baseUrl: string, look: Look): Promise<number> {
  await page.goto(addressOf(baseUrl, look));
  const { askedAt, paintedAt } = await page.evaluate<Wait>(readWait(look));
  return paintedAt - askedAt;
}

function addressOf(baseUrl: string, { page, search }: Look): string {
  const query = new URLSearchParams({
    ...(search && { q: search }),
    ...(page > 1 && { page: String(page) }),
  });
  return `${baseUrl}/account/api-keys?${query}`;
}

async function repeat<Result>(what: (time: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let time = 0; time < times; time += 1) results.push(await what(time));
  return results;
}

await using stack = new AsyncDisposableStack();
const place = await createPlace();
stack.defer(() => place.close());
const { baseUrl } = await place.start();
const account = await signUp(baseUrl);
await seed(place.cluster);
const browser = await startBrowser();
stack.defer(() => browser.stop());
const { page } = await browser.open();
await page.addInitScript({ content: watchList });
const { cookie = "" } = await signIn(baseUrl, account);
const [name = "", value = ""] = cookie.split("=");
await page.context().addCookies([{ name, value, url: baseUrl }]);

const inApp: number[][] = [];
for (const looks of steps) inApp.push(await timeSteps(page, baseUrl, looks));
// In turns, so that the list before is always another: keys that stay where they are would be quick.
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
console.info(`${keys.toLocaleString("en")} keys of one user; medians of ${times}, in milliseconds.\n`);
console.info(renderTable(["", "the call", "in the app", "loaded anew"], rows));

import { clientConfig } from "@latchkey/db/connection";
import pg from "pg";
import type { Page } from "playwright-core";
import { type Account, callProcedure, signIn, signUp } from "../support/account.ts";
import { startBrowser } from "../support/browser.ts";
import { createPlace } from "../support/place.ts";
import { connectionTo } from "../support/postmaster.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:keys`: how long somebody with 100,000 keys waits for their list, asked for by itself and in a browser.

const keys = 100_000;
const times = 15;
const pageSize = 25;

const looks = [
  { what: "the first page", page: 1, search: "" },
  { what: "a page in the middle", page: keys / pageSize / 2, search: "" },
  { what: "the last page", page: keys / pageSize, search: "" },
  { what: "a search that every key fits", page: 1, search: "number" },
  { what: "a search that one key fits", page: 1, search: "number 77777" },
  { what: "a search that no key fits", page: 1, search: "nowhere" },
] as const;

type Look = (typeof looks)[number];

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

async function timeCall(
  baseUrl: string,
  { cookie }: Account,
  { page, search }: Pick<Look, "page" | "search">,
): Promise<number> {
  const startedAt = performance.now();
  const input = { page, search, pageSize };
  const { status } = await callProcedure(baseUrl, { path: "apiKeys.list", kind: "query", input, cookie });
  if (status !== 200) throw new Error(`The list was answered ${status}.`);
  return performance.now() - startedAt;
}

/** Runs in the page: notes when the list stands there, by the browser's own clock. */
const watchList = `
  const look = () => {
    if (document.querySelector("main [aria-busy=false], main h2"))
      document.documentElement.dataset.shownAt ??= String(performance.now());
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });`;

/** Runs in the page: what has passed since the list was asked for. */
const readTime = `
  Number(document.documentElement.dataset.shownAt) - performance
    .getEntriesByType("resource")
    .find(({ name }) => decodeURIComponent(name).includes("apiKeys.list")).startTime`;

/** From asking for the list until it stands on the page. */
async function timePage(page: Page, baseUrl: string, { page: number, search }: Look): Promise<number> {
  const query = new URLSearchParams({
    ...(search ? { q: search } : {}),
    ...(number > 1 ? { page: String(number) } : {}),
  });
  await page.goto(`${baseUrl}/account/api-keys?${query}`);
  await page.locator("html[data-shown-at]").waitFor({ state: "attached" });
  return Number(await page.evaluate(readTime));
}

async function measure(what: () => Promise<number>): Promise<string> {
  const measured: number[] = [];
  for (let time = 0; time < times; time += 1) measured.push(await what());
  return median(measured).toFixed(0);
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
const rows: string[][] = [];
for (const look of looks) {
  rows.push([
    look.what,
    await measure(() => timeCall(baseUrl, account, look)),
    await measure(() => timePage(page, baseUrl, look)),
  ]);
}
console.info(`${keys.toLocaleString("en")} keys of one user; medians of ${times}, in milliseconds.\n`);
console.info(renderTable(["", "the call", "in the browser, from asking to seeing"], rows));

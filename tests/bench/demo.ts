import type { Page, Request } from "playwright-core";
import { getWorkspace, proceduresOf } from "../e2e/call.ts";
import { startBrowser } from "../support/browser.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:demo`: opens every page of the demo, with 1,000 members and 100,000 audit events, in a browser. Then
// repeats each request of each page, one at a time. Prints the slowest request of each page. Use an idle machine.

const repetitions = 15;

interface Measured {
  readonly path: string;
  /** The procedures of a request, joined by commas. */
  readonly procedures: string;
  /** While the page loaded, together with its other requests, in milliseconds. */
  readonly firstMs: number;
  /** The median of the repetitions, in milliseconds. */
  readonly medianMs: number;
}

await using stack = new AsyncDisposableStack();
const instance = await createTestInstance();
stack.defer(() => instance.close());
const { status, stdout, stderr } = await instance.command(["--json", "demo"]);
if (status !== 0) throw new Error(stderr);
const { operator, password } = JSON.parse(stdout) as { operator: string; password: string }; // What it prints.
const { baseUrl } = await instance.start();
const browser = await startBrowser();
stack.defer(() => browser.stop());

const { page } = await browser.open();
await page.goto(`${baseUrl}/sign-in`);
await page.getByLabel("Email").fill(operator);
await page.getByLabel("Password").fill(password);
await page.getByRole("button", { name: "Sign in" }).click();
await page.getByRole("heading", { name: "Busiest API keys" }).waitFor();

const slowest: Measured[] = [];
for (const path of await listPaths(page)) {
  const measured = await measurePage(page, path);
  slowest.push(...measured.sort((one, other) => other.medianMs - one.medianMs).slice(0, 1));
}
const rows = slowest.map(({ path, procedures, firstMs, medianMs }) => [
  path,
  procedures,
  firstMs.toFixed(0),
  medianMs.toFixed(0),
]);
console.info(`The slowest request of each page, in milliseconds; medians of ${repetitions}.\n`);
console.info(renderTable(["page", "procedures", "page load", "alone"], rows));

/** Lists the pages of the app, with those of a key, webhook and service account of the workspace. */
async function listPaths(signedIn: Page): Promise<readonly string[]> {
  const { slug, id: workspaceId } = await getWorkspace(signedIn);
  const { apiKeys, webhooks, members } = proceduresOf(signedIn);
  const [keys, hooks, accounts] = await Promise.all([
    apiKeys.list.query({}),
    webhooks.list.query({ workspaceId }),
    members.list.query({ workspaceId, kind: "service_account" }),
  ]);
  const workspace = `/w/${slug}`;
  return [
    "/account/api-keys",
    `/account/api-keys/${keys.items[0]?.id}`,
    "/account/profile",
    "/account/security",
    "/account/notices",
    workspace,
    `${workspace}/api-keys`,
    `${workspace}/api-keys?sort=recentUses`,
    `${workspace}/members`,
    `${workspace}/members/invitations`,
    `${workspace}/members/service-accounts`,
    `${workspace}/members/service-accounts/${accounts.items[0]?.userId}`,
    `${workspace}/audit`,
    `${workspace}/webhooks`,
    `${workspace}/webhooks/${hooks.items[0]?.id}`,
    `${workspace}/settings`,
    "/operator/users",
    "/operator/workspaces",
    "/operator/instance",
    "/operator/log",
  ];
}

/** Opens a page and measures its requests for data. */
async function measurePage(signedIn: Page, path: string): Promise<Measured[]> {
  const requests: Request[] = [];
  const collect = (request: Request) => {
    if (request.url().includes("/trpc/")) requests.push(request);
  };
  signedIn.on("requestfinished", collect);
  await signedIn.goto(baseUrl + path);
  await signedIn.waitForLoadState("networkidle");
  signedIn.off("requestfinished", collect);
  const measured: Measured[] = [];
  for (const request of requests.filter((one) => one.method() === "GET")) {
    const { requestStart, responseEnd } = request.timing();
    const procedures = new URL(request.url()).pathname.replace("/trpc/", "");
    const firstMs = responseEnd - requestStart;
    measured.push({ path, procedures, firstMs, medianMs: await repeat(signedIn, request) });
  }
  return measured;
}

/** Repeats a request, and returns the median of its times in milliseconds. */
async function repeat(signedIn: Page, request: Request): Promise<number> {
  const cookies = await signedIn.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  const times: number[] = [];
  for (let time = 0; time < repetitions; time += 1) {
    const startedAt = performance.now();
    const response = await fetch(request.url(), { headers: { cookie } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${request.url()} returned ${response.status}.`);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

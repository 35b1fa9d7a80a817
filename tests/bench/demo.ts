import { loadavg } from "node:os";
import type { Page, Request } from "playwright-core";
import { getWorkspace, proceduresOf } from "../e2e/call.ts";
import { startBrowser } from "../support/browser.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:demo`: opens every page of the demo, with 1,000 members and 100,000 audit events, in a browser, with filters,
// searches and orders. Then repeats each request of each page and of the next page of each list, one at a time, after one
// repetition that isn't measured. Prints the slowest request of each page, and fails if the median of a request is over
// 100 ms. Use an idle machine: prints the load average too.

const repetitions = 15;
/** The most time that the median of a request may take, in milliseconds. */
const maxMs = 100;

interface Measured {
  readonly path: string;
  /** The procedures of a request, joined by commas. */
  readonly procedures: string;
  /** While the page loaded, together with its other requests, in milliseconds; undefined for a next page. */
  readonly firstMs: number | undefined;
  /** The median of the repetitions, in milliseconds. */
  readonly medianMs: number;
}

await using stack = new AsyncDisposableStack();
const instance = await createTestInstance();
stack.defer(() => instance.close());
const demoStartedAt = performance.now();
const { status, stdout, stderr } = await instance.command(["--json", "demo"]);
const demoSeconds = (performance.now() - demoStartedAt) / 1_000;
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
  // A next page is a row of its own, even if another request of the page is slower.
  for (const part of Map.groupBy(measured, (one) => one.path).values())
    slowest.push(...part.sort((one, other) => other.medianMs - one.medianMs).slice(0, 1));
}
const rows = slowest.map(({ path, procedures, firstMs, medianMs }) => [
  namePlaceholders(path),
  procedures,
  firstMs?.toFixed(0) ?? "",
  medianMs.toFixed(0),
]);
console.info(
  `\`latchkey demo\` took ${demoSeconds.toFixed(1)} s. Load average now: ${loadavg()[0]?.toFixed(2)}.`,
);
console.info(`The slowest request of each page, in milliseconds; medians of ${repetitions}.\n`);
console.info(renderTable(["page", "procedures", "page load", "alone"], rows));
const tooSlow = slowest.filter(({ medianMs }) => medianMs > maxMs);
if (tooSlow.length > 0)
  throw new Error(
    `Over ${maxMs} ms: ${tooSlow.map(({ path, procedures }) => `${procedures} of ${path}`).join("; ")}`,
  );

/** Replaces the IDs in a path, which differ from run to run, by what they identify. */
function namePlaceholders(path: string): string {
  const placeholders = new Map([
    ["key", "{keyId}"],
    ["usr", "{userId}"],
    ["ks", "{keyspaceId}"],
    ["ikey", "{issuedKeyId}"],
    ["whk", "{webhookId}"],
  ]);
  return path.replaceAll(/([a-z]+)_[0-9a-z]{26}/gu, (id, prefix: string) => placeholders.get(prefix) ?? id);
}

/** Lists the pages of the app, with those of a key, webhook and service account of the workspace, and of lists with filters. */
async function listPaths(signedIn: Page): Promise<readonly string[]> {
  const { slug, id: workspaceId } = await getWorkspace(signedIn);
  const { apiKeys, webhooks, members, session, keyspaces, issuedKeys } = proceduresOf(signedIn);
  const [current, keys, hooks, accounts] = await Promise.all([
    session.current.query(),
    apiKeys.list.query({}),
    webhooks.list.query({ workspaceId }),
    members.list.query({ workspaceId, kind: "service_account" }),
  ]);
  const workspace = `/w/${slug}`;
  const keyspaceId = (await keyspaces.list.query({ workspaceId })).items[0]?.id ?? "";
  const issuedKeyId = (await issuedKeys.list.query({ workspaceId, keyspaceId })).items[0]?.id ?? "";
  return [
    "/account/api-keys",
    "/account/api-keys?q=deploy",
    `/account/api-keys/${keys.items[0]?.id}`,
    "/account/profile",
    "/account/security",
    "/account/notices",
    workspace,
    `${workspace}/api-keys`,
    `${workspace}/api-keys?sort=-recentUses`,
    `${workspace}/api-keys?q=deploy`,
    `${workspace}/api-keys?page=2`,
    `${workspace}/api-keys?status=unused`,
    `${workspace}/keyspaces`,
    `${workspace}/keyspaces/${keyspaceId}`,
    `${workspace}/keyspaces/${keyspaceId}?status=disabled`,
    `${workspace}/keyspaces/${keyspaceId}?status=expiring`,
    `${workspace}/keyspaces/${keyspaceId}/usage`,
    `${workspace}/keyspaces/${keyspaceId}/keys/${issuedKeyId}`,
    `${workspace}/keyspaces/${keyspaceId}/consumers`,
    `${workspace}/keyspaces/${keyspaceId}/consumers?q=customer_1&sort=-createdAt`,
    `${workspace}/keyspaces/${keyspaceId}/consumers/customer_1`,
    `${workspace}/members`,
    `${workspace}/members?q=ada`,
    `${workspace}/members?sort=-name`,
    `${workspace}/members/invitations`,
    `${workspace}/members/invitations?status=pending`,
    `${workspace}/members/service-accounts`,
    `${workspace}/members/service-accounts/${accounts.items[0]?.userId}`,
    `${workspace}/audit`,
    `${workspace}/audit?action=member.role-changed`,
    `${workspace}/audit?actor=${current?.user.id}`,
    `${workspace}/audit?sort=occurredAt`,
    `${workspace}/webhooks`,
    `${workspace}/webhooks/${hooks.items[0]?.id}`,
    `${workspace}/settings`,
    "/operator/users",
    "/operator/users?q=ada",
    "/operator/users?sort=-email",
    "/operator/workspaces",
    "/operator/workspaces?sort=-memberCount",
    "/operator/workspaces?sort=-keyCount",
    "/operator/instance",
    "/operator/log",
    `/operator/log?actor=${current?.user.id}`,
  ];
}

/** A response to one call of a batch. */
interface Result {
  readonly result?: { readonly data?: { readonly nextCursor?: string | null } | null };
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
    const { pathname, searchParams } = new URL(request.url());
    const procedures = pathname.replace("/trpc/", "");
    const firstMs = responseEnd - requestStart;
    measured.push({ path, procedures, firstMs, medianMs: await repeat(signedIn, request.url()) });
    const input = JSON.parse(searchParams.get("input") ?? "{}") as Record<string, object>; // What the app sent.
    const results = (await (await request.response())?.json()) as readonly Result[]; // A batch.
    for (const [index, { result }] of results.entries()) {
      const nextCursor = result?.data?.nextCursor;
      if (!nextCursor) continue;
      const next = { 0: { ...input[index], cursor: nextCursor } };
      const procedure = procedures.split(",")[index] ?? "";
      const url = `${baseUrl}/trpc/${procedure}?batch=1&input=${encodeURIComponent(JSON.stringify(next))}`;
      measured.push({
        ...{ path: `${path}, next page`, procedures: procedure, firstMs: undefined },
        medianMs: await repeat(signedIn, url),
      });
    }
  }
  return measured;
}

/** Repeats a request after a warm-up, and returns the median of its times in milliseconds. */
async function repeat(signedIn: Page, url: string): Promise<number> {
  const cookies = await signedIn.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  const times: number[] = [];
  for (let time = 0; time <= repetitions; time += 1) {
    const startedAt = performance.now();
    const response = await fetch(url, { headers: { cookie } });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${url} returned ${response.status}.`);
    if (time > 0) times.push(performance.now() - startedAt);
  }
  return median(times);
}

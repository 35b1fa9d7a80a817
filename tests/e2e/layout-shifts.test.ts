import { decodeId } from "@latchkey/db/ids";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { OpenPage } from "../support/browser.ts";
import { createKey, signUp } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

let visit: OpenPage;

const shiftAtMost = 0.02;
/** The delay of each response, in milliseconds, so that every placeholder appears before its content. */
const answerDelayMs = 400;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  visit = await browser.open();
  await signUp(visit.page, baseUrl);
});

// Counts every layout shift, including shifts shortly after a click, which the standard metric leaves out.
const observeShifts = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
`;

/** Opens a URL with slow responses, waits until `words` appear, and returns how far the page shifted. */
async function measureShift(page: Page, path: string, words: string): Promise<unknown> {
  await page.goto(`${environment.baseUrl}${path}`);
  await page.getByText(words).first().waitFor();
  await page.evaluate("document.fonts.ready.then(() => undefined)");
  // The observer has received everything that was painted.
  await paint(page);
  return await page.evaluate("layoutShift");
}

/** Waits for two frames, after which everything that the page contained before is painted. */
async function paint(page: Page): Promise<void> {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

async function slowDown(page: Page): Promise<void> {
  await page.addInitScript(observeShifts);
  await page.route("**/trpc/**", async (route) => {
    await new Promise((done) => setTimeout(done, answerDelayMs));
    // On a busy machine, painting a placeholder can take longer than that. A page that is left paints nothing.
    await paint(page).catch(() => undefined);
    await route.continue();
  });
}

test("shifts nothing while pages for visitors load", async () => {
  const { page, complaints } = await environment.browser.open();
  await slowDown(page);
  expect(await measureShift(page, "/sign-in", "Use your email address and password")).toBeLessThan(
    shiftAtMost,
  );
  expect(await measureShift(page, "/sign-up", "12 to 128 characters")).toBeLessThan(shiftAtMost);
  expect(complaints).toEqual([]);
});

test("shifts nothing while pages of a signed-in user load, empty and full", async () => {
  const { page, complaints } = visit;
  await slowDown(page);
  expect(await measureShift(page, "/", "Completes automatically")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, "/account/api-keys", "No API keys yet")).toBeLessThan(shiftAtMost);
  await Promise.all(Array.from({ length: 30 }, (_, number) => createKey(page, `Robot ${number}`)));
  expect(await measureShift(page, "/account/api-keys", "1–25 of 30 keys")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, "/account/api-keys?page=2", "26–30 of 30 keys")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, "/", "You have 30 keys.")).toBeLessThan(shiftAtMost);
  await measureKeyspace(page);
  expect(complaints).toEqual([]);
  expect(await measureShift(page, "/nowhere", "Page not found")).toBeLessThan(shiftAtMost);
});

/** Measures the pages of a keyspace: without keys, with a key that waits for its first verification, and of its consumer. */
async function measureKeyspace(page: Page): Promise<void> {
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const path = `/w/${slug}/keyspaces/${keyspaceId}`;
  expect(await measureShift(page, path, "No keys yet")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, `${path}/consumers`, "No consumers yet")).toBeLessThan(shiftAtMost);
  const issued = { name: "Acme", externalId: "acme" };
  await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: issued });
  expect(await measureShift(page, path, "Waiting for a verification")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, `${path}/consumers`, "1 consumer")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, `${path}/consumers/acme`, "1 key, active")).toBeLessThan(shiftAtMost);
}

test("shifts nothing while the usage of keyspaces loads, empty and full", async () => {
  const { page } = await environment.browser.open();
  await signUp(page, environment.baseUrl, "hedy@example.com");
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  await slowDown(page);
  const usage = `/w/${slug}/keyspaces/${keyspaceId}/usage`;
  expect(await measureShift(page, usage, "No verification in the last 24 hours had tags")).toBeLessThan(
    shiftAtMost,
  );
  expect(await measureShift(page, `/w/${slug}`, "No unused keys.")).toBeLessThan(shiftAtMost);
  for (let number = 0; number < 5; number += 1) {
    const key = { name: `Key ${number}`, externalId: `customer_${number}` };
    await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: key });
  }
  await environment.change(`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, subject, date_trunc('hour', now(), 'UTC'), 'VALID', 7
    from issued_keys, unnest(array[id, consumer_id]) subject
    union all select workspace_id, unnest(array[id, workspace_id]), date_trunc('hour', now(), 'UTC'), 'VALID', 35
    from keyspaces`);
  await environment.change(`
    insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select workspace_id, keyspace_id, subject, subject <> id, (now() at time zone 'UTC')::date, 7, 7, 2
    from issued_keys, unnest(array[id, consumer_id]) subject`);
  await environment.change("update issued_keys set created_at = now() - interval '40 days'");
  expect(await measureShift(page, usage, "customer_4")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, `/w/${slug}`, "Never used, created")).toBeLessThan(shiftAtMost);
});

test.each([
  [1, "DISABLED"],
  [10, "DISABLED"],
  [12, "DISABLED"],
  // Its reason takes two lines.
  [10, "FORBIDDEN"],
])("shifts nothing while %i rejected verifications with the code %s load", async (count, code) => {
  const { page } = await environment.browser.open();
  await signUp(page, environment.baseUrl, `rejected-${count}-${code.toLowerCase()}@example.com`);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const { id } = await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: "Acme" } });
  await environment.change(`
    insert into issued_key_rejections (workspace_id, key_id, id, occurred_at, code, address, request_id)
    select workspace_id, id, uuidv7(), now() - n * interval '1 minute', '${code}', '203.0.113.7', 'req_' || n
    from issued_keys, generate_series(1, ${count}) n
    where id = '${decodeId("issuedKey", id)}'`);
  const table = Promise.withResolvers<void>();
  await page.route("**/issued-key-rejections-table*.js", async (route) => {
    await table.promise;
    await route.continue();
  });
  await page.addInitScript(observeShifts);
  await page.goto(`${environment.baseUrl}/w/${slug}/keyspaces/${keyspaceId}/keys/${id}`);
  const section = page.getByRole("region", { name: "Rejected and rate-limited verifications" });
  // All sections below have loaded.
  await page.getByText("issued the key").waitFor();
  // The end of the placeholder is in view, and with it what a higher table would move.
  await section.locator(".mantine-Skeleton-root").evaluate((box) => box.scrollIntoView({ block: "end" }));
  await page.evaluate("scrollBy(0, 200)");
  await paint(page);
  await page.evaluate("layoutShift = 0");
  table.resolve();
  await section.getByRole("row").nth(1).waitFor();
  await paint(page);
  expect(await page.evaluate("layoutShift")).toBeLessThan(0.001);
});

/** Records the content of the navigation on each change. */
const watchNavigation = `
  globalThis.navigations = [];
  const look = () => {
    const links = [...document.querySelectorAll('nav[aria-label="Main"] a')].map((link) => link.textContent);
    const navigation = links.join(", ");
    if (links.length > 0 && navigation !== navigations.at(-1)) navigations.push(navigation);
    requestAnimationFrame(look);
  };
  look();
`;

test("keeps the navigation while a page reloads, for each role", async () => {
  const { page } = await environment.browser.open();
  await signUp(page, environment.baseUrl, "grace@example.com");
  const own = await getWorkspace(page);
  const other = await getWorkspace(visit.page);
  const membership = ["--workspace", other.id, "--user", "grace@example.com", "--role", "viewer"];
  await environment.command(["member", "add", ...membership]);
  const open = async (path: string) => {
    await page.goto(`${environment.baseUrl}${path}`);
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    // After two frames, the observer has seen what was painted.
    await paint(page);
    return await page.evaluate("navigations");
  };
  await slowDown(page);
  await page.addInitScript(watchNavigation);
  await open(`/w/${other.slug}`);
  const asViewer = ["Overview, API keys, Keyspaces, Members, Settings, Your API keys, Profile, Security"];
  expect(await open(`/w/${other.slug}/members`)).toEqual(asViewer);
  expect(await open("/account/api-keys")).toEqual(asViewer);
  expect(await open(`/w/${own.slug}`)).toEqual([
    "Overview, API keys, Keyspaces, Members, Audit log, Webhooks, Settings, Your API keys, Profile, Security",
  ]);
  expect(await open(`/w/${other.slug}`)).toEqual(asViewer);

  await environment.command(["member", "remove", ...membership.slice(0, 4)]);
  await proceduresOf(page).workspaces.delete.mutate({ workspaceId: own.id });
  await open("/account/api-keys");
  expect(await open("/account/api-keys")).toEqual(["Your API keys, Profile, Security"]);
});

test.each([
  { chosen: "dark", system: "light" },
  { chosen: "light", system: "dark" },
] as const)(
  "paints a $chosen page first if $chosen was chosen on a $system system",
  async ({ chosen, system }) => {
    const { page } = await environment.browser.open({ colorScheme: system });
    await page.goto(`${environment.baseUrl}/sign-in`);
    // The app reloads the page if one of its files can't be loaded, which would interrupt the reload below.
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await page.evaluate((value) => localStorage.setItem("latchkey.appearance", value), chosen);
    // Only the document, its style sheet and the script for the color scheme arrive.
    await page.route("**/*.js", (route) =>
      route.request().url().endsWith("/color-scheme.js") ? route.continue() : route.abort(),
    );
    await page.reload();
    const background = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    expect(background).toBe(chosen === "dark" ? "rgb(14, 17, 21)" : "rgb(255, 255, 255)");
    const ofFrame = await page.evaluate(
      `[...document.querySelectorAll('meta[name="theme-color"]')].map((meta) => meta.content)`,
    );
    expect(new Set(ofFrame as string[])).toEqual(new Set([chosen === "dark" ? "#13171c" : "#f8f9fb"]));
  },
);

test("loads fonts, scripts and styles only from its own origin", async () => {
  const { page } = await environment.browser.open();
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${environment.baseUrl}/`)) foreign.push(request.url());
  });
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(foreign).toEqual([]);
  expect(await page.evaluate('document.fonts.check("14px Inter")')).toBe(true);
});

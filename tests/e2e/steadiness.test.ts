import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { OpenPage } from "../support/browser.ts";
import { createKey, signUp } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { setStage } from "./set-stage.ts";

let visit: OpenPage;

const shiftAtMost = 0.02;
/** Long enough that every placeholder shows before what it stands for. */
const answerDelayMs = 400;

const stage = setStage(async ({ browser, baseUrl }) => {
  visit = await browser.open();
  await signUp(visit.page, baseUrl);
});

// Whatever moves by itself counts, also shortly after a click, which the usual measure leaves out.
const observeShifts = `
  globalThis.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
`;

/** Opens an address with slow answers, waits until `words` show, and answers how much the page moved. */
async function measureShift(page: Page, path: string, words: string): Promise<unknown> {
  await page.goto(`${stage.baseUrl}${path}`);
  await page.getByText(words).first().waitFor();
  await page.evaluate("document.fonts.ready.then(() => undefined)");
  // Two frames later the observer has heard of everything that was painted.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  return await page.evaluate("layoutShift");
}

async function slowDown(page: Page): Promise<void> {
  await page.addInitScript(observeShifts);
  await page.route("**/trpc/**", async (route) => {
    await new Promise((done) => setTimeout(done, answerDelayMs));
    await route.continue();
  });
}

test("moves nothing while pages for visitors load", async () => {
  const { page, complaints } = await stage.browser.open();
  await slowDown(page);
  expect(await measureShift(page, "/sign-in", "Use your email address and password")).toBeLessThan(
    shiftAtMost,
  );
  expect(await measureShift(page, "/sign-up", "12 to 128 characters")).toBeLessThan(shiftAtMost);
  expect(complaints).toEqual([]);
});

test("moves nothing while pages of a signed-in person load, empty and full", async () => {
  const { page, complaints } = visit;
  await slowDown(page);
  expect(await measureShift(page, "/", "This step is completed automatically")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, "/account/api-keys", "No API keys yet")).toBeLessThan(shiftAtMost);
  await Promise.all(Array.from({ length: 30 }, (_, number) => createKey(page, `Robot ${number}`)));
  expect(await measureShift(page, "/account/api-keys", "1–25 of 30 keys")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, "/account/api-keys?page=2", "26–30 of 30 keys")).toBeLessThan(shiftAtMost);
  expect(await measureShift(page, "/", "You have 30 keys.")).toBeLessThan(shiftAtMost);
  expect(complaints).toEqual([]);
  expect(await measureShift(page, "/nowhere", "Page not found")).toBeLessThan(shiftAtMost);
});

/** Notes what the navigation holds, each time that it changes. */
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

test("keeps the navigation as it was while a page loads again, whatever the person's role", async () => {
  const { page } = await stage.browser.open();
  await signUp(page, stage.baseUrl, "grace@example.com");
  const own = await getWorkspace(page);
  const other = await getWorkspace(visit.page);
  const membership = ["--workspace", other.id, "--user", "grace@example.com", "--role", "viewer"];
  await stage.command(["member", "add", ...membership]);
  const open = async (path: string) => {
    await page.goto(`${stage.baseUrl}${path}`);
    await page.getByRole("button", { name: "Account menu" }).waitFor();
    // Two frames later the watch has seen what was painted.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    return await page.evaluate("navigations");
  };
  await slowDown(page);
  await page.addInitScript(watchNavigation);
  await open(`/w/${other.slug}`);
  const asViewer = ["Overview, API keys, Members, Settings, Your API keys, Security"];
  expect(await open(`/w/${other.slug}/members`)).toEqual(asViewer);
  expect(await open("/account/api-keys")).toEqual(asViewer);
  expect(await open(`/w/${own.slug}`)).toEqual([
    "Overview, API keys, Members, Audit log, Settings, Your API keys, Security",
  ]);
  expect(await open(`/w/${other.slug}`)).toEqual(asViewer);

  await stage.command(["member", "remove", ...membership.slice(0, 4)]);
  await proceduresOf(page).workspaces.delete.mutate({ workspaceId: own.id });
  await open("/account/api-keys");
  expect(await open("/account/api-keys")).toEqual(["Your API keys, Security"]);
});

test.each([
  { chosen: "dark", system: "light" },
  { chosen: "light", system: "dark" },
] as const)(
  "paints a $chosen page first where $chosen was chosen on a $system system",
  async ({ chosen, system }) => {
    const { page } = await stage.browser.open({ colorScheme: system });
    await page.goto(`${stage.baseUrl}/sign-in`);
    await page.evaluate((value) => localStorage.setItem("latchkey.appearance", value), chosen);
    // Nothing but the document, its style and the script for the scheme arrives.
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

test("takes fonts, scripts and styles from its own origin only", async () => {
  const { page } = await stage.browser.open();
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${stage.baseUrl}/`)) foreign.push(request.url());
  });
  await page.goto(`${stage.baseUrl}/sign-in`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(foreign).toEqual([]);
  expect(await page.evaluate('document.fonts.check("14px Inter")')).toBe(true);
});

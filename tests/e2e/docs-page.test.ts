import type { Locator, Page, Response } from "playwright-core";
import { expect, test } from "vitest";
import { findAccessibilityProblems, findColorProblems } from "../support/accessibility.ts";
import { createKey, signUp } from "../support/account.ts";
import { prepareEnvironment } from "./environment.ts";

// The reference page of the open API, for a user with a new key.

let key: string;
/** One visit per color scheme, shared by the tests, because loading the page takes seconds of processor time. */
let visits: Readonly<Record<"light" | "dark", Visit>>;

const environment = prepareEnvironment(async ({ baseUrl }) => {
  key = (await createKey(baseUrl, await signUp(baseUrl), "Reference")).key;
  visits = { light: await openReference(baseUrl, "light"), dark: await openReference(baseUrl, "dark") };
});

interface Visit {
  readonly page: Page;
  readonly complaints: readonly string[];
  /** The URLs of all requests of the page. */
  readonly requestedUrls: readonly string[];
  readonly script: Response;
}

const scriptAddress = /\/assets\/standalone-.+\.js$/;

/** Opens the reference page of `origin` at the top. */
async function openReference(origin: string, colorScheme: "light" | "dark"): Promise<Visit> {
  const { page, complaints } = await environment.browser.open({
    colorScheme,
    viewport: { width: 1280, height: 800 },
  });
  const requestedUrls: string[] = [];
  page.on("request", (request) => requestedUrls.push(request.url()));
  const script = page.waitForResponse((response) => scriptAddress.test(response.url()));
  await page.goto(`${origin}/docs`);
  await page.getByRole("heading", { name: "Latchkey open API" }).waitFor();
  return { page, complaints, requestedUrls, script: await script };
}

async function showOperation(page: Page, anchor: string, title: string): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/docs#${anchor}`);
  await page.getByRole("heading", { name: title }).waitFor();
}

/** Tries the operation that returns the configuration of the instance. Returns what the page shows. */
async function tryCall(
  page: Page,
  secret: string,
  status: RegExp,
  inspect: (page: Page) => Promise<void> = async () => undefined,
): Promise<string> {
  await showOperation(page, "tag/instance/GET/global/config", "Get the configuration of the instance");
  return await useClient(page, /Test Request.*get \/global\/config/s, async (client) => {
    await client.getByPlaceholder("Token").fill(secret);
    await client.getByRole("button", { name: /^Send get request/ }).click();
    await client.getByText("requestId").or(client.getByText("serverTime")).first().waitFor();
    await expect.poll(() => client.textContent()).toMatch(status);
    const shown = (await client.textContent()) ?? "";
    await inspect(page);
    return shown;
  });
}

/** Opens the dialog that sends requests. Closes it in any case, because it covers the page, which the tests share. */
async function useClient<Result>(
  page: Page,
  button: RegExp,
  use: (client: Locator) => Promise<Result>,
): Promise<Result> {
  await page.getByRole("button", { name: button }).click();
  const client = page.getByRole("dialog");
  try {
    return await use(client);
  } finally {
    await page.keyboard.press("Escape");
    await client.waitFor({ state: "detached" });
  }
}

test("loads its script compressed, once", async () => {
  const { script, requestedUrls } = visits.light;
  const { "content-encoding": encoding, "cache-control": caching } = script.headers();
  // Chromium accepts Brotli only over HTTPS and from loopback addresses. Both encodings are precompressed.
  expect(["br", "gzip"]).toContain(encoding);
  expect(caching).toBe("public, max-age=31536000, immutable");
  const { responseBodySize } = await script.request().sizes();
  expect(responseBodySize).toBeLessThan(1_400_000);
  expect(requestedUrls.filter((address) => scriptAddress.test(address))).toHaveLength(1);
});

// Runs first, while the page has rendered only what is checked.
test.each(["light", "dark"] as const)("is accessible in %s at 1280 px and at 375 px", async (colorScheme) => {
  const { page } = visits[colorScheme];
  // The schemes differ only in colors.
  const find = colorScheme === "light" ? findAccessibilityProblems : findColorProblems;
  const resize = async (width: number) => {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  };
  expect(await find(page)).toEqual([]);
  await resize(375);
  expect(await find(page)).toEqual([]);
  await showOperation(page, "tag/workspaces/POST/workspaces", "Create a workspace");
  expect(await find(page)).toEqual([]);
  await resize(1280);
  expect(await find(page)).toEqual([]);
});

test.each(["light", "dark"] as const)("tries a call with a key, on a %s system", async (colorScheme) => {
  const { page, complaints, requestedUrls } = visits[colorScheme];
  const shown = await tryCall(page, key, /Status:\s*200 OK/, async () => {
    // The schemes differ only in colors. The dialog has a `main` and sections of its own, which stay in the document.
    const problems = await (colorScheme === "light"
      ? findAccessibilityProblems(page)
      : findColorProblems(page));
    expect(problems.filter((problem) => !/^landmark-(no-duplicate-main|unique):/.test(problem))).toEqual([]);
  });
  expect(shown).toContain('"registration": "open"');
  expect(requestedUrls).toContain(`${environment.baseUrl}/open/global/config`);
  expect(requestedUrls.filter((address) => new URL(address).origin !== environment.baseUrl)).toEqual([]);
  expect(complaints).toEqual([]);
  expect(await page.evaluate("document.body.classList.contains('dark-mode')")).toBe(colorScheme === "dark");
});

test("shows the API's error for an invalid key", async () => {
  const shown = await tryCall(visits.light.page, "lk_nothing", /Status:\s*403 Forbidden/);
  expect(shown).toContain('"Insufficient access"');
});

test("calls the origin it was opened from, and stores no key", async () => {
  const other = environment.baseUrl.replace("127.0.0.1", "localhost");
  expect(other).not.toBe(environment.baseUrl);
  const { page, requestedUrls } = await openReference(other, "light");
  await tryCall(page, key, /Status:\s*200 OK/);
  expect(requestedUrls).toContain(`${other}/open/global/config`);
  expect(requestedUrls.filter((address) => new URL(address).origin !== other)).toEqual([]);
  const kept = await page.evaluate(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])",
  );
  expect(kept).not.toContain(key);
  await page.context().close();
});

test("shows code samples in curl, JavaScript, Python and Go, with the URL of the instance", async () => {
  const { page } = visits.light;
  await showOperation(page, "tag/instance/GET/global/config", "Get the configuration of the instance");
  const sample = page.getByRole("group", { name: /Request Example for\s*get\s*\/global\/config/i });
  for (const [option, marker] of [
    ["Fetch", "fetch("],
    ["http.client", "HTTPConnection("],
    ["NewRequest", "http.NewRequest("],
    ["Curl", "curl "],
  ] as const) {
    await sample.getByTestId("client-picker").click();
    expect((await page.getByRole("option").allTextContents()).toSorted()).toEqual(samples);
    await page.getByRole("option", { name: option }).click();
    await expect.poll(() => sample.locator("code").textContent()).toContain(marker);
    const code = await sample.locator("code").textContent();
    // Python's client gets the host and the path separately.
    for (const part of [new URL(environment.baseUrl).host, "/open/global/config", "Bearer "])
      expect(code).toContain(part);
  }
});

const samples = ["Curl", "Fetch", "NewRequest", "http.client"];

test("leaves optional filters out of code samples", async () => {
  const { page } = visits.light;
  await showOperation(page, "tag/workspaces/GET/workspaces", "List workspaces");
  const sample = page.getByRole("group", { name: /Request Example for\s*get\s*\/workspaces/i }).first();
  await expect.poll(() => sample.locator("code").textContent()).toContain("/open/workspaces");
  expect(await sample.locator("code").textContent()).not.toMatch(/limit=|sort=|role=/);
});

test("follows a change to the color scheme while it is open", async () => {
  const { page } = visits.light;
  const isDark = () => page.evaluate("document.body.classList.contains('dark-mode')");
  expect(await isDark()).toBe(false);
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(isDark).toBe(true);
  expect(await page.locator("html").getAttribute("data-mantine-color-scheme")).toBe("dark");
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(isDark).toBe(false);
});

test("states the required permission of an operation", async () => {
  const { page } = visits.light;
  await showOperation(
    page,
    "tag/members/PATCH/workspaces/{workspaceId}/members/{userId}",
    "Change a member's role",
  );
  await page.getByText("Requires members:manage.").first().waitFor();
});

test.each([
  [
    "tag/workspaces/POST/workspaces",
    "Create a workspace",
    /Test Request.*post \/workspaces/s,
    "Idempotency-Key",
  ],
  [
    "tag/api-keys/DELETE/api-keys/{keyId}",
    "Delete an API key",
    /Test Request.*delete \/api-keys/s,
    "If-Match",
  ],
] as const)("sends no header that nobody filled in: %s", async (anchor, title, button, header) => {
  const { page } = visits.light;
  await showOperation(page, anchor, title);
  await useClient(page, button, async (client) => {
    await client.getByPlaceholder("Token").fill(key);
    const sent = page.waitForRequest((request) => request.url().includes("/open/"));
    await client.getByRole("button", { name: /^Send (post|delete) request/ }).click();
    const headers = await (await sent).allHeaders();
    expect(headers.authorization).toBe(`Bearer ${key}`);
    expect(headers[header.toLowerCase()]).toBeUndefined();
    // The key of the example doesn't exist.
    const status = header === "If-Match" ? /Status:\s*403/ : /Status:\s*201/;
    await client
      .getByText(status)
      .or(client.getByText(/requestId|slug/).first())
      .first()
      .waitFor();
    await expect.poll(() => client.textContent()).toMatch(status);
  });
});

test.each(["light", "dark"] as const)(
  "the errors page is accessible in %s, and links back to the app",
  async (colorScheme) => {
    const { page } = await environment.browser.open({ colorScheme });
    await page.goto(`${environment.baseUrl}/docs/errors#FORBIDDEN`);
    await page.getByRole("heading", { name: "FORBIDDEN HTTP 403" }).waitFor();
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await findAccessibilityProblems(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
    await page.getByRole("link", { name: "Back to the app" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.context().close();
  },
);

test("uses the app's logo, colors and font, and the color scheme chosen in the app, and links back to it", async () => {
  const { page } = await environment.browser.open({ colorScheme: "light" });
  await page.goto(environment.baseUrl);
  await page.evaluate("localStorage.setItem('latchkey.appearance', 'dark')");
  await page.goto(`${environment.baseUrl}/docs`);
  await page.getByRole("heading", { name: "Latchkey open API" }).waitFor();
  const look = await page.evaluate(
    "[getComputedStyle(document.querySelector('h1')).fontFamily, getComputedStyle(document.querySelector('h1')).color]",
  );
  expect(look).toEqual([expect.stringMatching(/^"?Inter/), "rgb(230, 233, 238)"]);
  expect(await page.evaluate("document.body.classList.contains('dark-mode')")).toBe(true);
  const header = page.getByRole("navigation", { name: "Documentation" });
  const home = header.getByRole("link", { name: "Latchkey" });
  expect(await home.getAttribute("href")).toBe("/");
  expect(await home.locator("img").boundingBox()).toMatchObject({ width: 24, height: 24 });
  expect(await page.evaluate("document.querySelector('.docs-home img').naturalWidth")).toBeGreaterThan(0);
  await header.getByRole("link", { name: "Back to the app" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

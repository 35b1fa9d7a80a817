import type { BrowserContext } from "playwright-core";
import { afterAll, onTestFinished, TestRunner, test } from "vitest";
import { type OpenPage, startBrowser, type TestBrowser } from "../support/browser.ts";
import { open } from "../support/inspection.ts";
import { clusterOf, connectionTo } from "../support/postmaster.ts";
import { type Product, startProduct } from "../support/prepared-instance.ts";
import type { Variables } from "../support/product.ts";

export interface Environment {
  readonly baseUrl: string;
  readonly browser: FileBrowser;
  /**
   * Runs the `latchkey` command while the server runs, and returns its result. @throws an Error if the command
   * fails.
   */
  readonly command: (args: readonly string[], input?: string) => Promise<unknown>;
  /** Runs a statement on the product's database. */
  readonly change: (statement: string) => Promise<void>;
}

interface FileBrowser extends Pick<TestBrowser, "open"> {
  /**
   * Returns a page that looks new, but is the same for all tests of a file, because a new page loads and compiles the
   * app again, which doubles the processor time of the first load. Only for tests that change nothing of the page but
   * its URL, size, cookies, storage and routes, and that use no other page of this kind.
   */
  readonly reopen: () => Promise<OpenPage>;
}

/**
 * Chromium interprets the pages' scripts, or compiles them without optimization. Each test loads the app anew, and the optimizing
 * compilers take a fifth of the processor time of its pages, more than their code saves.
 */
const flags = ["--js-flags=--no-opt --no-maglev"];

/** The files that a worker runs share a Chromium, because each start of Chromium takes a second of processor time. */
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of used fixtures from this pattern.
const withChromium = test.extend("chromium", { scope: "worker" }, async ({}, { onCleanup }) => {
  const chromium = await startBrowser(flags);
  onCleanup(chromium.stop);
  return chromium;
});

/**
 * Starts a product and a browser before the first test of a file, and stops them after the last one.
 * @param variables environment variables of the product.
 */
export function prepareEnvironment(
  prepare: (environment: Environment) => Promise<void> = async () => undefined,
  variables: Variables = {},
): Environment {
  let product: Product | undefined;
  let browser: (FileBrowser & { readonly close: () => Promise<void> }) | undefined;
  const environment: Environment = {
    get baseUrl() {
      return there(product).baseUrl;
    },
    get browser() {
      return there(browser);
    },
    async command(args, input) {
      const { dataDirectory } = there(product);
      // Loaded only on use, because loading takes a second and few test files need it.
      const { runCommandInProcess } = await import("../support/command.ts");
      const { status, stdout, stderr } = await runCommandInProcess(
        ["--json", ...args],
        { DATA_DIR: dataDirectory },
        input,
      );
      if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async change(statement) {
      const client = await open(await connectionTo(clusterOf(there(product).dataDirectory)));
      await client.query(statement).finally(() => client.end());
    },
  };
  withChromium.beforeAll(async ({ chromium }) => {
    product = await startProduct(variables);
    browser = openFor(chromium, product.baseUrl);
    await prepare(environment);
  });
  afterAll(async () => {
    await browser?.close();
    await product?.stop();
  });
  return environment;
}

/**
 * Closes what a test opened when the test has finished, and what the file opened with `close`, because an open page
 * keeps polling the server.
 */
function openFor(
  chromium: TestBrowser,
  baseUrl: string,
): FileBrowser & { readonly close: () => Promise<void> } {
  const contexts = new Set<BrowserContext>();
  let shared: OpenPage | undefined;
  const openContext = async (options?: Parameters<TestBrowser["open"]>[0]) => {
    const opened = await chromium.open(options);
    contexts.add(opened.page.context());
    return opened;
  };
  const close = async (context: BrowserContext) => {
    contexts.delete(context);
    await context.close();
  };
  return {
    async open(options) {
      const opened = await openContext(options);
      if (TestRunner.getCurrentTest()) onTestFinished(() => close(opened.page.context()));
      return opened;
    },
    async reopen() {
      const opened = shared ?? (await openContext());
      shared = opened;
      onTestFinished(async ({ task }) => {
        // What a failed test left behind must not fail the next one.
        if (task.result?.state !== "pass") shared = undefined;
        if (shared) await clear(opened, baseUrl);
        else await close(opened.page.context());
      });
      return opened;
    },
    async close() {
      await Promise.all([...contexts].map(close));
    },
  };
}

/** Removes what a test left in a page: the app, its storage, the session, routes, a size and complaints. */
async function clear({ page, complaints }: OpenPage, baseUrl: string): Promise<void> {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  // A static file of the app's origin, where no script of the app runs.
  await page.goto(`${baseUrl}/favicon.svg`);
  await page.evaluate("localStorage.clear(); sessionStorage.clear()");
  await page.context().clearCookies();
  await page.setViewportSize({ width: 1280, height: 720 }); // Playwright's default.
  complaints.length = 0;
}

function there<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error("It exists only while tests run.");
  return part;
}

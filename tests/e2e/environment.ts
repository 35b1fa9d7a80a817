import { afterAll, beforeAll, onTestFinished, TestRunner } from "vitest";
import { startBrowser, type TestBrowser } from "../support/browser.ts";
import { open } from "../support/inspection.ts";
import { clusterOf, connectionTo } from "../support/postmaster.ts";
import { type Product, startProduct } from "../support/prepared-instance.ts";
import type { Variables } from "../support/product.ts";

interface Environment {
  readonly baseUrl: string;
  readonly browser: TestBrowser;
  /**
   * Runs the `latchkey` command while the server runs, and returns its result. @throws an Error if the command
   * fails.
   */
  readonly command: (args: readonly string[], input?: string) => Promise<unknown>;
  /** Runs a statement on the product's database. */
  readonly change: (statement: string) => Promise<void>;
}

/**
 * Starts a product and a browser before the first test of a file, and stops them after the last one.
 * @param variables environment variables of the product.
 */
export function prepareEnvironment(
  prepare: (environment: Environment) => Promise<void> = async () => undefined,
  variables: Variables = {},
): Environment {
  let product: Product | undefined;
  let browser: TestBrowser | undefined;
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
  beforeAll(async () => {
    [product, browser] = await Promise.all([startProduct(variables), startBrowser().then(closeAfterTest)]);
    await prepare(environment);
  });
  afterAll(async () => {
    await browser?.stop();
    await product?.stop();
  });
  return environment;
}

/** Closes what a test opened when the test has finished, because an open page keeps polling the server. */
function closeAfterTest(browser: TestBrowser): TestBrowser {
  return {
    ...browser,
    async open(options) {
      const opened = await browser.open(options);
      if (TestRunner.getCurrentTest()) onTestFinished(() => opened.page.context().close());
      return opened;
    },
  };
}

function there<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error("It exists only while tests run.");
  return part;
}

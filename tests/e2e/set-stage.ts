import { afterAll, beforeAll } from "vitest";
import { startBrowser, type TestBrowser } from "../support/browser.ts";
import { type Product, startProduct } from "../support/prepared-place.ts";
import type { Variables } from "../support/product.ts";

interface Stage {
  readonly baseUrl: string;
  readonly browser: TestBrowser;
  /** Runs the `latchkey` command beside the server; answers its result. @throws an Error when it was refused. */
  readonly command: (args: readonly string[], input?: string) => Promise<unknown>;
}

/**
 * A product and a browser for the tests of one file: there from the first test on, gone after the last one.
 * @param variables environment variables of the product.
 */
export function setStage(
  prepare: (stage: Stage) => Promise<void> = async () => undefined,
  variables: Variables = {},
): Stage {
  let product: Product | undefined;
  let browser: TestBrowser | undefined;
  const stage: Stage = {
    get baseUrl() {
      return there(product).baseUrl;
    },
    get browser() {
      return there(browser);
    },
    async command(args, input) {
      const { dataDirectory } = there(product);
      // Few files of tests use it, and loading it takes a second.
      const { runCommandHere } = await import("../support/command.ts");
      const { status, stdout, stderr } = await runCommandHere(
        ["--json", ...args],
        { DATA_DIR: dataDirectory },
        input,
      );
      if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
      return JSON.parse(stdout);
    },
  };
  beforeAll(async () => {
    [product, browser] = await Promise.all([startProduct(variables), startBrowser()]);
    await prepare(stage);
  });
  afterAll(async () => {
    await browser?.stop();
    await product?.stop();
  });
  return stage;
}

function there<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error("It is there only while tests run.");
  return part;
}

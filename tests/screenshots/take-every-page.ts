import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { BrowserContextOptions, Page } from "playwright-core";
import { startBrowser } from "../support/browser.ts";
import { projectRoot } from "../support/product.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { signIn, signUp, visitor } from "../support/visitor.ts";
import { addContent } from "./add-content.ts";
import { takeKeyspaceStates } from "./keyspace-states.ts";
import { takePages } from "./pages.ts";
import { createScenes, openPage, type Scene } from "./scenes.ts";
import { takeSignInStates, takeStates } from "./states.ts";

// Takes a picture of every page and dialog, at four widths, in light and dark, to look at them one by one:
// `pnpm screenshots:all [folder]`. `--only keyspace,consumer` takes only the states whose names contain one of these texts, and
// `--widths 375,1440` only these widths. A state that can't be shown is reported at the end, with exit status 1.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string", default: "" },
    widths: { type: "string", default: "375,768,1024,1440" },
  },
});
const directory = resolve(positionals[0] ?? join(projectRoot, "tests/.results/pages"));
const widths = values.widths.split(",").map(Number);
const texts = values.only.split(",");
const failures: string[] = [];

await mkdir(directory, { recursive: true });
const [instance, browser] = await Promise.all([createTestInstance(), startBrowser()]);
const { baseUrl } = await instance.start();
try {
  await inBothSchemes({}, async (page, scene) => {
    await scene("setup", async (take) => {
      await openPage(page, `${baseUrl}/sign-up`, "Create account");
      await take("setup");
    });
  });
  const { page: maker } = await browser.open();
  await signUp(maker, baseUrl);
  await inBothSchemes({ storageState: await maker.context().storageState() }, async (page, scene) => {
    await scene("quick-start", async (take) => {
      await openPage(page, baseUrl, "Create an API key");
      await take("quick-start");
    });
  });
  const content = await addContent(maker, { instance, baseUrl });
  await inBothSchemes({}, async (page, scene, colorScheme) => {
    const visit = { ...content, baseUrl, colorScheme, scene };
    await takeSignInStates(page, visit);
    await signIn(page, baseUrl, visitor.email);
    await takePages(page, visit);
    await takeStates(page, visit);
    await takeKeyspaceStates(page, visit);
  });
} finally {
  await browser.stop();
  await instance.close();
}
if (failures.length > 0) {
  process.stderr.write(`States that could not be shown:\n${failures.join("\n")}\n`);
  process.exitCode = 1;
}

async function inBothSchemes(
  options: BrowserContextOptions,
  visit: (page: Page, scene: Scene, colorScheme: string) => Promise<void>,
): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const { page } = await browser.open({ ...options, colorScheme });
    const scene = createScenes(page, {
      ...{ directory, widths, colorScheme },
      isSelected: (name) => texts.some((text) => name.includes(text)),
      onFailure: (state, error) =>
        failures.push(`${state}: ${error instanceof Error ? error.message : error}`),
    });
    await visit(page, scene, colorScheme);
    await page.context().close();
  }
}

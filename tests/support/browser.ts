import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { installChromium } from "./chromium.ts";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Only ends what hangs, on a busy machine too. */
const actionTimeoutMs = 90_000;

export interface TestBrowser {
  /** Opens a page in a new browser context, which shares no cookies and no storage with other pages. */
  readonly open: (options?: BrowserContextOptions) => Promise<OpenPage>;
  readonly stop: () => Promise<void>;
}

export interface OpenPage {
  readonly page: Page;
  /** The errors of the page so far: exceptions, console errors, violations of the content security policy. */
  readonly complaints: string[];
}

/**
 * Starts a Chromium with a temporary home directory, which `stop` deletes.
 * @param extraFlags command-line flags besides the ones that every Chromium of this project gets.
 */
export async function startBrowser(extraFlags: readonly string[] = []): Promise<TestBrowser> {
  const { executablePath, variables } = await installChromium();
  const home = await mkdtemp(join(tmpdir(), "latchkey-browser-"));
  const browser = await chromium.launch({
    executablePath,
    args: [...flags, ...extraFlags],
    env: { HOME: home, LC_ALL: "C.UTF-8", ...variables },
  });
  return {
    open: (options) => openPage(browser, options),
    async stop() {
      await browser.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext({
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    permissions: ["clipboard-read", "clipboard-write"],
    reducedMotion: "reduce",
    ...options,
  });
  context.setDefaultTimeout(actionTimeoutMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  return { page, complaints };
}

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// Only the name of the workspace is shortened if the header has no room for it, and only if it is long.

let page: Page;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
});

/** Renames the workspace, and shows it. */
async function showWorkspace(name: string): Promise<void> {
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { version } = await proceduresOf(page).workspaces.get.query({ workspaceId });
  await proceduresOf(page).workspaces.update.mutate({ workspaceId, name, version });
  await page.goto(`${environment.baseUrl}/w/${slug}`);
  await page.getByRole("button", { name: `Workspace: ${name}` }).waitFor();
}

const findCutParts = `(() => {
  const header = document.querySelector("header");
  const parts = [header, ...header.querySelectorAll("button, a, span")];
  return parts.filter((part) => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display !== "inline")
    .map((part) => part.textContent.trim());
})()`;

async function findCutPartsByWidth(): Promise<Record<number, readonly string[]>> {
  const found: Record<number, readonly string[]> = {};
  for (const width of [768, 820, 900, 1024, 1199, 1200, 1440]) {
    await page.setViewportSize({ width, height: 600 });
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const parts = await page.evaluate<string[]>(findCutParts);
    if (parts.length > 0) found[width] = parts;
  }
  return found;
}

test.each(["Acme", "Ada Lovelace’s workspace", "Payments of Acme in Europe (live)"])(
  "shows the whole name of the workspace from a width of 768 px: %s",
  async (name) => {
    await showWorkspace(name);
    expect(await findCutPartsByWidth()).toEqual({});
  },
);

test("shortens only the name of the workspace if it is too long, and shows the whole name on hover", async () => {
  const name =
    "The department of the analytical engine and of the difference engines of the company in London";
  await showWorkspace(name);
  const widths = [768, 820, 900, 1024, 1200, 1440];
  expect(await findCutPartsByWidth()).toMatchObject(
    Object.fromEntries(widths.map((width) => [width, [name]])),
  );
  expect(await page.getByRole("button", { name: `Workspace: ${name}` }).getAttribute("title")).toBe(name);
});

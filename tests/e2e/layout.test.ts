import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { scrollUntil } from "../support/scroll-until.ts";
import { signUp, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// At every window width, no hint of a field is cut, and no text of a list or of a dialog with a list overlaps another or is clipped to
// less than 60 px, with relative and with exact times. Every page can be used with the keyboard alone.

let page: Page;
let slug: string;
let keyId: string;
/** The service account. */
let userId: string;
let keyspaceId: string;
let issuedKeyId: string;
let webhookId: string;
/** A key of the service account, with rejected requests and IP addresses. */
let usedKeyId: string;
const requestId = "nightly-job-of-the-deploy-pipeline-with-a-long-name-0042";

const environment = prepareEnvironment(prepare, { TRUSTED_PROXIES: "127.0.0.1" });

async function prepare({ browser, baseUrl, command }: typeof environment): Promise<void> {
  ({ page } = await browser.open());
  await signUp(page, baseUrl);
  const workspace = await getWorkspace(page);
  ({ slug } = workspace);
  const email = "a.rather.long.email.address.of.a.member@subdomain.example.com";
  const name = "Margaret Elaine Heafield Hamilton of Draper Laboratory";
  await command(["user", "create", "--email", email, "--name", name, "--password-stdin"], visitor.password);
  await command(["member", "add", "--workspace", workspace.id, "--user", email, "--role", "owner"]);
  // Notices about a user's own role.
  for (const role of ["admin", "owner"]) {
    await command(["member", "role", "--workspace", workspace.id, "--user", visitor.email, "--role", role]);
  }
  for (const system of ["Macintosh; Intel Mac OS X 10_15_7", "Windows NT 10.0; Win64; x64"]) {
    const response = await fetch(`${baseUrl}/trpc/session.signIn`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": `Mozilla/5.0 (${system}; rv:140.0) Gecko/20100101 Firefox/140.0`,
      },
      body: JSON.stringify({ email: visitor.email, password: visitor.password }),
    });
    expect(response.status).toBe(200);
  }
  const { apiKeys, invitations, issuedKeys, keyspaces, serviceAccounts, webhooks } = proceduresOf(page);
  for (const invited of ["grace@example.com", `invited.${email}`]) {
    await invitations.create.mutate({ workspaceId: workspace.id, email: invited, role: "viewer" });
  }
  const webhook = await webhooks.create.mutate({
    workspaceId: workspace.id,
    url: "https://events.a-rather-long-host-name.example.com/webhooks/latchkey/production",
    description: "The archive of security events of the whole company",
    actions: ["member.removed", "member.added"],
  });
  webhookId = webhook.id;
  await webhooks.test.mutate({ workspaceId: workspace.id, id: webhookId });
  const keyspace = await keyspaces.create.mutate({
    workspaceId: workspace.id,
    fields: {
      name: "The keys of the customers of the data warehouse in production",
      prefix: "warehouse_live",
      environment: "production-europe-west-frankfurt-4-of-the-company",
      defaultPermissions: ["warehouse.exports.of-the-whole-company.nightly.read", "documents.*"],
      defaultLimits: [
        { name: "exports-of-the-whole-warehouse", quota: 1_000_000_000, windowSeconds: 86_399 },
      ],
      defaultCredits: {
        remaining: 1_000_000_000_000,
        refill: { amount: 1_000_000_000_000, interval: "monthly", day: 31 },
      },
    },
  });
  keyspaceId = keyspace.id;
  const keyPath = { workspaceId: workspace.id, keyspaceId };
  const issued = await issuedKeys.create.mutate({
    ...keyPath,
    fields: {
      name: "The nightly import of a customer with a rather long name in Frankfurt",
      externalId: "customer-00000000-0000-4000-8000-000000000042@a-long-host-name.example.com",
      meta: { plan: "enterprise", contract: "00000000-0000-4000-8000-0000000000420000000000000000000000000" },
      ipRanges: ["2001:db8:85a3:1234:5678:8a2e:370:7334/128"],
    },
  });
  issuedKeyId = issued.id;
  await issuedKeys.create.mutate({ ...keyPath, fields: { isDisabled: true, externalId: "customer_43" } });
  await issuedKeys.rotate.mutate({ ...keyPath, id: issuedKeyId, overlapSeconds: 86_400 });
  const account = await serviceAccounts.create.mutate({
    workspaceId: workspace.id,
    name: "Deploys of the services that Margaret Hamilton is responsible for",
    role: "admin",
  });
  ({ userId } = account);
  const used = await serviceAccounts.createKey.mutate({
    workspaceId: workspace.id,
    userId,
    name: "Pipeline",
    settings: { permissions: ["audit:read"] },
  });
  usedKeyId = used.id;
  for (const path of ["/open/me", `/open/workspaces/${workspace.id}/members`]) {
    await fetch(baseUrl + path, {
      headers: {
        Authorization: `Bearer ${used.key}`,
        "X-Forwarded-For": "2001:db8:85a3:1234:5678:8a2e:370:7334",
        "X-Request-Id": `${requestId}-of-the-pipeline`,
      },
    });
  }
  for (const key of ["The export of the nightly data warehouse of the whole company", "Reports"]) {
    await command(["key", "create", "--user", email, "--name", key]);
  }
  const { key } = await apiKeys.create.mutate({
    name: "A key with a name that is much longer than the column for it",
    description: "Described at length, for a table with little room",
    settings: {
      workspaceIds: [workspace.id],
      permissions: ["members:read", "audit:read"],
      isReadOnly: true,
      ipRanges: ["203.0.113.0/24", "2001:db8::/32"],
      limit: { quota: 1_000_000, windowSeconds: 86_400 },
      expiresAt: { inSeconds: 5 * 86_400 },
    },
  });
  const rejected = await fetch(`${baseUrl}/open/workspaces/${workspace.id}/members`, {
    headers: { Authorization: `Bearer ${key}`, "X-Request-Id": requestId },
  });
  expect(rejected.status).toBe(403);
  const { id } = await apiKeys.create.mutate({ name: "Rotating" });
  keyId = id;
  await apiKeys.rotate.mutate({ id, overlapSeconds: 86_400 });
  // Both are written after the response.
  const { keyHistory } = proceduresOf(page);
  await vi.waitFor(async () => {
    expect(await keyHistory.addresses.query({ id: usedKeyId })).toHaveLength(1);
    expect(await keyHistory.refusals.query({ id: usedKeyId })).toHaveLength(1);
  }, 30_000);
}

const wide = { width: 1280, height: 900 };
const widths = [375, 480, 600, 640, 700, 768, 820, 900, 960, 1024, 1100, 1280, 1440, 1920, 2560];

/**
 * Finds text that is clipped to less than 60 px, text over other text, clipped labels of buttons, hints and choices,
 * titles without room, and horizontal scrolling, in the open dialog, or else in the page.
 */
const findProblems = `(() => {
  const problems = [];
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) problems.push("the page scrolls sideways");
  const dialog = document.querySelector("[role=dialog]");
  if (dialog && dialog.scrollWidth > dialog.clientWidth) problems.push("the dialog scrolls sideways");
  const root = dialog ?? document.querySelector("main");
  const isShown = (element) => element.getClientRects().length > 0 && !element.closest(".visually-hidden");
  const kinds = "th, td, dd, dt, li > div > :is(h2, h3, span), li > :is(p, span, code), li > label > span";
  const cells = [...root.querySelectorAll(kinds)].filter(isShown);
  for (const label of [...root.querySelectorAll("button span")].filter(isShown)) {
    if (label.scrollWidth > label.clientWidth + 1 && getComputedStyle(label).display !== "inline")
      problems.push("the label of the button " + label.textContent + " is cut");
  }
  const canvas = document.createElement("canvas").getContext("2d");
  // The hint of an empty field, and the choice of a select, which the user can't scroll.
  for (const field of [...root.querySelectorAll("input[placeholder], input[readonly]")].filter(isShown)) {
    const { font, paddingLeft, paddingRight } = getComputedStyle(field);
    canvas.font = font;
    const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    const words = field.readOnly ? field.value : field.placeholder;
    if (canvas.measureText(words).width > room + 1) problems.push(words + " is cut in its field");
  }
  for (const title of document.querySelectorAll("main h1")) {
    const { width } = title.closest("header").firstElementChild.getBoundingClientRect();
    if (width < 280) problems.push("the title has only " + Math.round(width) + " px");
  }
  const texts = [];
  // What the ancestors of a text leave of it. Texts share most ancestors, whose styles take long to compute.
  const clips = new Map([[root, { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }]]);
  const clipOf = (box) => {
    const known = clips.get(box);
    if (known) return known;
    let { left, right, top, bottom } = clipOf(box.parentElement);
    const { overflowX, overflowY } = getComputedStyle(box);
    const edge = box.getBoundingClientRect();
    if (overflowX !== "visible") [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
    if (overflowY !== "visible") [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
    const clip = { left, right, top, bottom };
    clips.set(box, clip);
    return clip;
  };
  for (const cell of cells) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      // A text with possible line breaks consists of several nodes.
      if (text.previousSibling?.nodeName === "WBR") continue;
      let last = text;
      while (last.nextSibling && (last.nodeName === "WBR" || last.nextSibling.nodeName === "WBR")) last = last.nextSibling;
      const range = document.createRange();
      range.setStartBefore(text);
      range.setEndAfter(last);
      const words = range.toString().trim();
      if (words === "" || !isShown(text.parentElement)) continue;
      let { left, right, top, bottom } = range.getBoundingClientRect();
      const whole = right - left;
      const clip = clipOf(text.parentElement);
      [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
      [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
      const shown = right - left;
      if (shown < whole - 1 && shown < 60) problems.push(words + " is cut to " + Math.round(shown) + " px");
      texts.push({ words, cell, left, right, top, bottom });
    }
  }
  for (const one of texts) for (const other of texts) {
    const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (width <= 1 || height <= 1) continue;
    if (one.cell === other.cell || one.cell.contains(other.cell) || other.cell.contains(one.cell)) continue;
    problems.push(one.words + " is drawn over " + other.words);
  }
  return problems;
})()`;

const lists = [
  ["the keys of a workspace", (): string => `/w/${slug}/api-keys`, "Rotating"],
  ["members", (): string => `/w/${slug}/members`, "Ada Lovelace"],
  ["invitations", (): string => `/w/${slug}/members/invitations`, "grace@example.com"],
  ["service accounts", (): string => `/w/${slug}/members/service-accounts`, "Deploys of"],
  ["a service account", (): string => `/w/${slug}/members/service-accounts/${userId}`, "Pipeline"],
  ["the audit log", (): string => `/w/${slug}/audit`, "created the workspace"],
  ["webhooks", (): string => `/w/${slug}/webhooks`, "The archive"],
  ["keyspaces", (): string => `/w/${slug}/keyspaces`, "The keys of the customers"],
  ["consumers", (): string => `/w/${slug}/keyspaces/${keyspaceId}/consumers`, "customer_43"],
  [
    "a consumer",
    (): string => `/w/${slug}/keyspaces/${keyspaceId}/consumers/customer_43`,
    "Shared rate limits",
  ],
  ["the keys of a keyspace", (): string => `/w/${slug}/keyspaces/${keyspaceId}`, "customer_43"],
  [
    "the usage of a keyspace",
    (): string => `/w/${slug}/keyspaces/${keyspaceId}/usage`,
    "No verification in the last 24 hours had tags",
  ],
  [
    "an issued key",
    (): string => `/w/${slug}/keyspaces/${keyspaceId}/keys/${issuedKeyId}`,
    "The nightly import of a customer",
  ],
  ["the deliveries to a webhook", (): string => `/w/${slug}/webhooks/${webhookId}`, "Test message"],
  ["your own keys", (): string => "/account/api-keys", "Rotating"],
  ["the profile", (): string => "/account/profile", "Current password"],
  ["the sessions and the security log", (): string => "/account/security", "Rotated the API key"],
  ["the notices", (): string => "/account/notices", "changed from owner to admin"],
  [
    "a rejected request",
    (): string => `/account/requests/${requestId}`,
    "The key is restricted to IP ranges",
  ],
  ["the users of the instance", (): string => "/operator/users", "Ada Lovelace"],
  ["the workspaces of the instance", (): string => "/operator/workspaces", "Ada Lovelace"],
  ["the health of the instance", (): string => "/operator/instance", "Reachable"],
  ["the instance log", (): string => "/operator/log", "Member added"],
  ["the overview", (): string => `/w/${slug}`, "Newest members"],
] as const;

const pages = [
  ...lists,
  // The policy loads last.
  ["the settings", (): string => `/w/${slug}/settings`, "Review and save"],
] as const;

async function resize(size: { readonly width: number; readonly height: number }): Promise<void> {
  await page.setViewportSize(size);
  // Two frames later the page is laid out for the new width.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

/** Returns the problems of the open dialog, or else of the page, by window width. */
async function findProblemsByWidth(): Promise<Record<number, readonly string[]>> {
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  const found: Record<number, readonly string[]> = {};
  for (const width of widths) {
    await resize({ width, height: 900 });
    const problems = await page.evaluate<string[]>(findProblems);
    if (problems.length > 0) found[width] = problems;
  }
  return found;
}

/**
 * Switches between relative and exact times as in another window of the same browser, so that the tests of a page share one load of
 * the app, which takes longer than the page at all widths.
 */
async function showTimes(times: "relative" | "exact"): Promise<void> {
  const newValue = String(times === "exact");
  await page.evaluate(`{
    const setting = { key: "latchkey.exact-times", newValue: "${newValue}", storageArea: localStorage };
    localStorage.setItem(setting.key, setting.newValue);
    dispatchEvent(new StorageEvent("storage", setting));
  }`);
  if (times === "relative") return;
  await expect.poll(() => page.locator("main time").filter({ hasNotText: /:\d\d/ }).count()).toBe(0);
}

async function openPage(path: string): Promise<void> {
  await page.setViewportSize(wide);
  await page.goto(environment.baseUrl + path);
}

function testWidths(): void {
  test.each(["exact", "relative"] as const)(
    "no text is clipped or overlaps another at any width, with %s times",
    async (times) => {
      await showTimes(times);
      expect(await findProblemsByWidth()).toEqual({});
    },
  );
}

// The tests of a page share one load of it, which takes longer than a test.
describe.each([...pages, ["a key", (): string => `/account/api-keys/${keyId}`, "Danger zone"]] as const)(
  "page: %s",
  (_what, path, text) => {
    beforeAll(async () => {
      await openPage(path());
      await page.getByText(text).first().waitFor();
    });

    testWidths();

    // Tab scrolls, so this comes last.
    test("Tab reaches every control in the order of the page, and shows the focus", async () => {
      await resize(wide);
      await expect.poll(() => page.locator("[aria-busy=true], .mantine-Skeleton-root").count()).toBe(0);
      const names = await page.evaluate<string[]>(findControls);
      const visited: { place: number; isShown: boolean }[] = [];
      for (let press = 0; press < names.length; press += 1) {
        await page.keyboard.press("Tab");
        visited.push(await page.evaluate(findFocus));
      }
      expect(visited.map(({ place }) => names[place])).toEqual(names);
      expect(visited.filter(({ isShown }) => !isShown).map(({ place }) => names[place])).toEqual([]);
    });
  },
);

describe("page: a key that was used", () => {
  beforeAll(async () => {
    await openPage(`/account/api-keys/${usedKeyId}`);
    await scrollUntil(page.getByText("of-the-pipeline"));
  });

  testWidths();
});

const dialogs = [
  {
    name: "What each role can do",
    path: () => `/w/${slug}/members`,
    open: () => press("what each role can do"),
    text: "Delete the workspace with everything in it",
  },
  {
    name: /^Remove “Margaret/,
    path: () => `/w/${slug}/members`,
    open: () => press(/^Remove Margaret/),
    text: "2 API keys lose access",
  },
  {
    name: /^Remove “Margaret/,
    path: () => `/w/${slug}/members`,
    open: async () => {
      await press(/^Remove Margaret/);
      await press("Replace with service account keys");
    },
    text: "Name of the service account",
  },
  {
    name: "Remove 2 members?",
    path: () => `/w/${slug}/members`,
    open: async () => {
      await page.getByRole("checkbox", { name: "Select all on this page" }).check();
      await press("Remove");
    },
    text: "2 API keys lose access",
  },
  {
    name: "Save the API key policy?",
    path: () => `/w/${slug}/settings`,
    open: async () => {
      await page.getByRole("checkbox", { name: "Require IP ranges" }).check();
      await press("Review and save");
    },
    text: "4 keys would stop working",
  },
] as const;

describe.each(dialogs)("dialogs neither clip nor overlap their text at any width: $name, $text", (dialog) => {
  beforeAll(async () => {
    await openPage(dialog.path());
    await dialog.open();
    await page.getByRole("dialog", { name: dialog.name }).getByText(dialog.text).waitFor();
  });

  test.each(["exact", "relative"] as const)("with %s times", async (times) => {
    await showTimes(times);
    expect(await findProblemsByWidth()).toEqual({});
  });
});

async function press(name: string | RegExp): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
}

/** Remembers the controls of the page that Tab should reach, with their looks without the focus. Returns their names. */
const findControls = `(() => {
  // The UA's outline is invisible if its style is none, whatever its width and color.
  const outlineOf = ({ outlineStyle, outlineWidth, outlineColor }) =>
    outlineStyle === "none" || outlineWidth === "0px" ? "" : outlineWidth + outlineColor;
  globalThis.lookOf = (element) => {
    const style = getComputedStyle(element);
    return [outlineOf(style), style.boxShadow, style.borderColor, outlineOf(getComputedStyle(element, "::after"))].join();
  };
  const isReachable = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0 &&
    element.tabIndex >= 0 && !element.disabled && !element.closest("[inert]") &&
    (element.type !== "radio" || element.checked);
  globalThis.controls = [...document.querySelectorAll("a[href], button, input, select, textarea, [tabindex]")]
    .filter(isReachable);
  globalThis.looks = controls.map(lookOf);
  return controls.map((element) => element.getAttribute("aria-label") || element.textContent || element.outerHTML);
})()`;

/** The place of the focused control among them, and whether it looks different with the focus. */
const findFocus = `(() => {
  const place = controls.indexOf(document.activeElement);
  return { place, isShown: place >= 0 && lookOf(document.activeElement) !== looks[place] };
})()`;

test("columns, sort order and filters are kept in the URL", async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("link", { name: "Rotating" }).waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Restrictions" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "Restrictions" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await page.getByRole("columnheader", { name: "Name" }).and(page.locator("[aria-sort=ascending]")).waitFor();
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Rotating" }).click();
  await page.getByText("1 key", { exact: true }).waitFor();
  const search = new URL(page.url()).searchParams;
  expect(Object.fromEntries(search)).toEqual({
    columns: "status,start,expiresAt,lastUsedAt,usageCount",
    sort: "name",
    status: "rotating",
  });
  await page.reload();
  await page.getByText("1 key", { exact: true }).waitFor();
  expect(await page.getByRole("columnheader", { name: "Restrictions" }).count()).toBe(0);
});

test("selected keys are disabled and deleted together, after a confirmation, and enabled again", async () => {
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("2 keys selected").waitFor();
  // The selection is part of the URL.
  await page.reload();
  await page.getByText("2 keys selected").waitFor();
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Disable 2 keys?" });
  await dialog.getByText("None of them has ever been used.").waitFor();
  await dialog.getByRole("button", { name: "Disable 2 keys" }).click();
  await page.getByText("2 keys were disabled.").waitFor();
  await expect.poll(() => page.getByRole("table").getByText("Disabled").count()).toBe(2);
  await page.locator("main:focus").waitFor();
  await page.getByRole("checkbox", { name: "Select Rotating" }).check();
  expect(await page.getByRole("button", { name: "Disable", exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await page.getByRole("button", { name: "Enable 1 key" }).click();
  await page.getByText("1 key was enabled.").waitFor();
  await page.getByRole("checkbox", { name: "Select Rotating" }).check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete 1 key" }).click();
  await page.getByText("1 key was deleted.").waitFor();
  await page.getByRole("link", { name: "Rotating" }).waitFor({ state: "detached" });
  await page.goto(`${environment.baseUrl}/account/security`);
  await page.getByText("Deleted the API key “Rotating”").waitFor();
});

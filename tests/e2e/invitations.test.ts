import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { expectNotCached } from "../support/query-caches.ts";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { closeWithoutCopying } from "./close-without-copying.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";
import { stayDuringCall } from "./stay-during-call.ts";
import { untilFocused } from "./until-focused.ts";

// Ada invites people to her workspace. Linus has an account, and Grace has none. Each test continues where the
// previous one ended.

let ada: Page;
let linus: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let graceLink: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page: ada } = await browser.open());
  await enter(ada, baseUrl);
  workspace = await getWorkspace(ada);
  ({ page: linus } = await browser.open());
  await enter(linus, baseUrl, "linus@example.com");
});

const addressOf = (page: string) => `${environment.baseUrl}/w/${workspace.slug}/${page}`;
const dialogOf = (page: Page) => page.getByRole("dialog");
const rowOf = (page: Page, email: string) => page.getByRole("row").filter({ hasText: email });

/** Invites someone with the dialog, which must be open. Returns the link. */
async function invite(email: string, role?: string): Promise<string> {
  const dialog = dialogOf(ada);
  await untilFocused(dialog);
  await dialog.getByLabel("Email address").fill(email);
  if (role) {
    await dialog.getByRole("combobox", { name: "Role" }).click();
    await ada.getByRole("option", { name: new RegExp(`^${role}`) }).click();
  }
  await dialog.getByRole("button", { name: "Create invitation" }).click();
  return await readLink();
}

async function readLink(): Promise<string> {
  const code = dialogOf(ada).locator("code");
  await code.waitFor();
  return (await code.textContent()) ?? "";
}

test("invites a person from the members page, and shows the link once", async () => {
  await ada.goto(addressOf("members"));
  await ada.getByRole("button", { name: "Invite member" }).click();
  const dialog = dialogOf(ada);
  const role = dialog.getByRole("combobox", { name: "Role" });
  await dialog.getByText("Can view the workspace, verify issued keys, invite people").waitFor();
  await untilFocused(dialog);
  await role.click();
  await ada.getByRole("option", { name: "Viewer Can view the workspace, but not change it." }).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await ada.getByRole("option", { name: /^Viewer/ }).click();
  await dialog.getByText("Can view the workspace, but not change it.").waitFor();
  await dialog.getByRole("button", { name: "Create invitation" }).click();
  await dialog.getByText("Enter an email address, such as ada@example.com.").waitFor();
  graceLink = await invite("Grace@example.com", "Admin");
  expect(graceLink).toMatch(/^http:.+\/invitation#[\w-]{43}$/);
  await dialog.getByText("Send this link to grace@example.com.").waitFor();
  await dialog.getByRole("button", { name: "Copy link" }).and(ada.locator(":focus")).waitFor();
  await ada.keyboard.press("Escape");
  const warning = dialog.getByText("You haven’t copied the link, and it won’t be shown again.");
  await warning.waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await ada.keyboard.press("Enter");
  await warning.waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Invite another" }).click();
  await dialog.getByLabel("Email address").and(ada.locator(":focus")).fill("grace@example.com");
  await dialog.getByRole("button", { name: "Create invitation" }).click();
  await dialog.getByText("This person already has an invitation.").waitFor();
  await dialog.getByLabel("Email address").fill("ken@example.com");
  await stayDuringCall(ada, "invitations.create", () =>
    dialog.getByRole("button", { name: "Create invitation" }).click(),
  );
  await dialog.getByText("Send this link to ken@example.com.").waitFor();
  await closeWithoutCopying(dialog);
  await ada.getByRole("button", { name: "Invite member" }).and(ada.locator(":focus")).waitFor();
  await expectNotCached(ada, [graceLink]);

  await ada.getByRole("link", { name: "Invitations" }).click();
  await rowOf(ada, "grace@example.com").getByText("Admin").waitFor();
  await rowOf(ada, "ken@example.com").getByText("Ada Lovelace").waitFor();
  // The day on which it expires.
  await rowOf(ada, "ken@example.com")
    .getByRole("cell", { name: /^\d+ \w+ \d{4}$/ })
    .waitFor();
  await ada.getByRole("columnheader", { name: "Email address" }).getByRole("button").click();
  await ada.waitForURL(/\?sort=email$/);
  // While the list loads, the previous one is pale.
  const sorted = ada.locator("[aria-sort=ascending]");
  await ada.getByRole("columnheader", { name: "Email address" }).and(sorted).waitFor();
  await ada.locator("table[aria-busy=false]").waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
});

test("a person without an account signs up with the link, and works in the workspace", async () => {
  const { page } = await environment.browser.open({ viewport: { width: 375, height: 800 } });
  const sent: string[] = [];
  page.on("request", (request) => sent.push(request.url()));
  await page.goto(graceLink);
  await page.getByText("Ada Lovelace invited you to join as an admin.").waitFor();
  expect(await page.getByLabel("Email").inputValue()).toBe("grace@example.com");
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByLabel("Name").fill("Grace Hopper");
  await page.getByLabel("Password").fill("short");
  await page.getByRole("button", { name: "Create account and join" }).click();
  await page.getByText("Use at least 12 characters.").waitFor();
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account and join" }).click();
  await page.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await page.goto(addressOf("audit"));
  await page.getByText("joined as an admin, invited by Ada Lovelace").waitFor();
  // The token reaches no log that contains URLs.
  const token = graceLink.split("#")[1] ?? "";
  expect(sent.filter((address) => address.includes(token))).toEqual([]);

  await page.goto("about:blank");
  await page.goto(graceLink);
  await page.getByRole("heading", { name: "This invitation can’t be used" }).waitFor();
  await page.getByText("This invitation has expired, was revoked, or was already accepted.").waitFor();
  await page.goto(`${environment.baseUrl}/invitation`);
  await page.getByText("The link is incomplete.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("revokes an invitation, and sends another one again", async () => {
  await ada.goto(addressOf("members/invitations"));
  await ada.getByRole("button", { name: "Invite member" }).click();
  const former = await invite("linus@example.com", "Viewer");
  await closeWithoutCopying(dialogOf(ada));
  await ada.getByRole("button", { name: "Revoke the invitation for ken@example.com" }).click();
  await dialogOf(ada).getByText("The link stops working immediately.").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Revoke" }).click();
  await ada.getByText("The invitation was revoked.").waitFor();
  await ada.locator("#content:focus").waitFor();
  await rowOf(ada, "ken@example.com").waitFor({ state: "detached" });

  await ada.getByRole("button", { name: "Resend the invitation for linus@example.com" }).click();
  await stayDuringCall(ada, "invitations.resend", () =>
    dialogOf(ada).getByRole("button", { name: "Create a new link" }).click(),
  );
  const link = await readLink();
  await dialogOf(ada).getByRole("button", { name: "Copy link" }).and(ada.locator(":focus")).waitFor();
  await closeWithoutCopying(dialogOf(ada));
  await expectNotCached(ada, [former, link]);
  await linus.goto(former);
  await linus.getByRole("heading", { name: "This invitation can’t be used" }).waitFor();
  await linus.goto("about:blank");
  await linus.goto(link);
  await linus.getByText("You are signed in as linus@example.com.").waitFor();
  await linus.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(linus)).toEqual([]);
  await linus.getByRole("button", { name: "Join" }).click();
  await linus.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await linus.goBack(); // Not to the link, which was used.
  expect(linus.url()).toBe("about:blank");
  await linus.goto(addressOf("members"));
  await linus.getByText("3 members", { exact: true }).waitFor();
  // A viewer only reads.
  expect(await linus.getByRole("button", { name: "Invite member" }).count()).toBe(0);
  expect(await linus.getByRole("link", { name: "Invitations" }).count()).toBe(0);
  await ada.reload();
  await ada.getByText("No pending invitations").waitFor();
});

test("a member invites a person, and sees only the invitations that they sent", async () => {
  const { page: joan } = await environment.browser.open();
  await ada.getByRole("button", { name: "Invite member" }).click();
  await enter(joan, environment.baseUrl, "joan@example.com");
  const link = await invite("joan@example.com", "Member");
  await dialogOf(ada).getByRole("button", { name: "Invite another" }).click();
  await dialogOf(ada).getByText("To continue without copying it, try again.").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Invite another" }).click();
  await invite("radia@example.com", "Viewer");
  await closeWithoutCopying(dialogOf(ada));
  await joan.goto(link);
  await joan.getByRole("button", { name: "Join" }).click();
  await joan.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await joan.goto(addressOf("members"));
  await joan.getByRole("link", { name: "Invitations" }).click();
  await joan.getByText("No pending invitations").waitFor();
  expect(await joan.getByRole("link", { name: "Service accounts" }).count()).toBe(0);
  await joan.getByText("People whom you invited to this workspace and who haven’t joined yet.").waitFor();
  await joan.getByRole("button", { name: "Invite member" }).click();
  const dialog = dialogOf(joan);
  await untilFocused(dialog);
  await dialog.getByLabel("Email address").fill("barbara@example.com");
  await dialog.getByRole("combobox", { name: "Role" }).click();
  await joan.getByRole("option", { name: "Viewer Can view the workspace, but not change it." }).waitFor();
  const options = await joan.getByRole("option").allTextContents();
  expect(options).toEqual([expect.stringMatching(/^Member/), expect.stringMatching(/^Viewer/)]);
  await joan.getByRole("option", { name: /^Viewer/ }).click();
  await dialog.getByRole("button", { name: "Create invitation" }).click();
  await dialog.getByText("Send this link to barbara@example.com.").waitFor();
  await closeWithoutCopying(dialog);
  await rowOf(joan, "barbara@example.com").getByText("Viewer").waitFor();
  expect(await rowOf(joan, "radia@example.com").count()).toBe(0);
  await joan.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(joan)).toEqual([]);
  await joan.getByRole("button", { name: "Revoke the invitation for barbara@example.com" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await joan.getByText("No pending invitations").waitFor();
  // Ada sees the invitations of everybody.
  await ada.reload();
  await rowOf(ada, "radia@example.com").waitFor();
});

test("a viewer sees why there are no invitations, and nothing to invite people with", async () => {
  const { page: mary } = await environment.browser.open();
  await enter(mary, environment.baseUrl, "mary@example.com");
  await environment.command([
    ...["member", "add", "--workspace", workspace.id],
    ...["--user", "mary@example.com", "--role", "viewer"],
  ]);
  await mary.goto(addressOf("members/invitations"));
  await mary.getByRole("heading", { name: "Your role can’t invite people" }).waitFor();
  await mary
    .getByText("You are a viewer here; only owners, admins, and members can see and create invitations.")
    .waitFor();
  expect(await mary.getByRole("button", { name: "Invite member" }).count()).toBe(0);
  expect(await findProblemsInBothSchemes(mary)).toEqual([]);
});

test("someone who is signed in with another account can switch, and sign in and join", async () => {
  await ada.getByRole("button", { name: "Invite member" }).click();
  await environment.command(
    ["user", "create", "--email", "ken@example.com", "--name", "Ken Thompson", "--password-stdin"],
    visitor.password,
  );
  const link = await invite("ken@example.com");
  await linus.goto(link);
  await linus
    .getByText("The invitation is for ken@example.com, and you are signed in as linus@example.com.")
    .waitFor();
  const signOut = await holdCall(linus, "session.signOut");
  const button = linus.getByRole("button", { name: "Sign out and continue" });
  await button.click();
  await signOut.isSent;
  await button.and(linus.locator(":disabled")).waitFor();
  signOut.release();
  // The link was not emailed, so the page doesn't tell whether the address has an account.
  await linus.getByRole("button", { name: "Create account and join" }).waitFor();
  await linus.getByRole("button", { name: "Sign in with an existing account" }).click();
  await linus.getByRole("button", { name: "Create an account" }).waitFor();
  await linus.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(linus)).toEqual([]);
  await linus.getByLabel("Password").fill("not the right password");
  await linus.getByRole("button", { name: "Sign in and join" }).click();
  await linus.getByText("The password is wrong, or this email address has no account.").waitFor();
  await linus.getByLabel("Password").fill(visitor.password);
  await linus.getByRole("button", { name: "Sign in and join" }).click();
  await linus.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await linus.getByRole("button", { name: "Account menu" }).click();
  await linus.getByRole("menu").getByText("ken@example.com").waitFor();
});

test("someone whose session ends on the page of an invitation signs in there, and joins", async () => {
  const email = "barbara@example.com";
  const { page } = await environment.browser.open();
  await enter(page, environment.baseUrl, email);
  await closeWithoutCopying(dialogOf(ada));
  await ada.getByRole("button", { name: "Invite member" }).click();
  await page.goto(await invite(email));
  await page.getByText(`You are signed in as ${email}.`).waitFor();
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Sign in with an existing account" }).click();
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in and join" }).click();
  await page.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
});

test("sends expired invitations again together, and shows their links although the list is empty then", async () => {
  const people = ["alan@example.com", "edsger@example.com"];
  const workspaceId = workspace.id;
  for (const email of people)
    await proceduresOf(ada).invitations.create.mutate({ workspaceId, email, role: "viewer" });
  await environment.change(
    "update invitations set expires_at = now() where email in ('alan@example.com', 'edsger@example.com')",
  );
  await ada.goto(addressOf("members/invitations?status=expired"));
  await ada.getByRole("checkbox", { name: "Select all on this page" }).check();
  await ada.getByRole("button", { name: "Resend", exact: true }).click();
  const dialog = dialogOf(ada);
  await dialog.getByText("which are shown here, once, for you to send.").waitFor();
  await stayDuringCall(ada, "invitations.resend", () =>
    dialog.getByRole("button", { name: "Resend 2 invitations" }).click(),
  );
  await dialog.getByRole("heading", { name: "2 invitations were sent again" }).waitFor();
  await ada.getByText("No invitation matches").waitFor();
  await ada.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await dialog.getByRole("button", { name: "Copy the link for alan@example.com" }).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await ada.keyboard.press("Escape");
  await dialog.getByRole("alert").getByText("You haven’t copied 2 links, and they won’t be").waitFor();
  await dialog.getByRole("button", { name: "Copy all links" }).click();
  await dialog.getByRole("alert").and(ada.getByText(/^$/)).waitFor({ state: "attached" });
  const copied = String(await ada.evaluate("navigator.clipboard.readText()"));
  const links = new Map(copied.split("\n").map((line) => line.split("\t") as [string, string]));
  expect([...links.keys()].sort()).toEqual(people);
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  await ada.locator("#content:focus").waitFor();
  const { page } = await environment.browser.open();
  await page.goto(links.get("edsger@example.com") ?? "");
  expect(await page.getByLabel("Email").inputValue()).toBe("edsger@example.com");
});

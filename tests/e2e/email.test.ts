import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { startMailbox } from "../support/mailbox.ts";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { closeWithoutCopying } from "./close-without-copying.ts";
import { prepareEnvironment } from "./environment.ts";

// With an SMTP server, links are emailed. Ada invites Grace, who later forgets her password.

const mailbox = await startMailbox();
afterAll(() => mailbox.stop());

let ada: Page;
let grace: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;

const environment = prepareEnvironment(
  async ({ browser, baseUrl }) => {
    ({ page: ada } = await browser.open());
    await enter(ada, baseUrl);
    workspace = await getWorkspace(ada);
    ({ page: grace } = await browser.open());
  },
  { SMTP_URL: mailbox.url, MAIL_FROM: "Keys <keys@example.com>", REGISTRATION: "open" },
);

const email = "grace@example.com";

function linkIn(text: string): string {
  const [link = ""] = /http:\/\/\S+#[\w-]{43}/.exec(text) ?? [];
  return link;
}

test("emails an invitation, without showing its link to the inviter", async () => {
  await ada.goto(`${environment.baseUrl}/w/${workspace.slug}/members`);
  await ada.getByRole("button", { name: "Invite member" }).click();
  const dialog = ada.getByRole("dialog");
  await dialog.getByLabel("Email address").fill(email);
  await dialog.getByRole("button", { name: "Send invitation" }).click();
  await dialog.getByText(`The link is on its way to ${email}.`).waitFor();
  expect(await dialog.locator("code").count()).toBe(0);
  const mail = await mailbox.receive(email);
  expect(mail).toMatchObject({ from: "keys@example.com", subject: "Invitation to Ada Lovelace’s workspace" });
  expect(mail.text).toContain("Ada Lovelace invited you to join the workspace “Ada Lovelace’s workspace”");
  await grace.goto(linkIn(mail.text));
  await grace.getByLabel("Name").fill("Grace Hopper");
  await grace.getByLabel("Password").fill(visitor.password);
  await grace.getByRole("button", { name: "Create account and join" }).click();
  await grace.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
});

test("the link of an emailed invitation offers to sign in to an existing account", async () => {
  const invited = "barbara@example.com";
  await environment.command(
    ["user", "create", "--email", invited, "--name", "Barbara Liskov", "--password-stdin"],
    visitor.password,
  );
  await ada.goto(`${environment.baseUrl}/w/${workspace.slug}/members`);
  await ada.getByRole("button", { name: "Invite member" }).click();
  const dialog = ada.getByRole("dialog");
  await dialog.getByLabel("Email address").fill(invited);
  await dialog.getByRole("button", { name: "Send invitation" }).click();
  const { page } = await environment.browser.open();
  await page.goto(linkIn((await mailbox.receive(invited)).text));
  await page.getByText("You have an account with this email address.").waitFor();
  expect(await page.getByRole("button", { name: /account/ }).count()).toBe(0);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in and join" }).click();
  await page.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
});

test("after ten emails to a person, shows the link of an invitation that is sent again", async () => {
  const [often, seldom] = ["often@example.com", "seldom@example.com"];
  const { invitations } = proceduresOf(ada);
  const workspaceId = workspace.id;
  const { id } = await invitations.create.mutate({ workspaceId, email: often, role: "member" });
  await invitations.create.mutate({ workspaceId, email: seldom, role: "member" });
  for (let sent = 1; sent < 10; sent += 1)
    expect((await invitations.resend.mutate({ workspaceId, id })).url).toBeUndefined();
  await ada.goto(`${environment.baseUrl}/w/${workspace.slug}/members/invitations`);
  const dialog = ada.getByRole("dialog");
  const links = dialog.locator("code");
  for (const [address, isEmailed] of [
    [seldom, true],
    [often, false],
  ] as const) {
    await ada.getByRole("button", { name: `Resend the invitation for ${address}` }).click();
    await dialog.getByText("or shows it here for you to send if the person got ten emails").waitFor();
    await dialog.getByRole("button", { name: "Create a new link" }).click();
    if (isEmailed) {
      await dialog.getByText(`The link is on its way to ${address}.`).waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await dialog.waitFor({ state: "detached" });
    } else {
      expect(linkIn((await links.textContent()) ?? "")).not.toBe("");
      await closeWithoutCopying(dialog);
    }
  }

  await ada.getByRole("checkbox", { name: "Select all on this page" }).check();
  await ada.getByRole("button", { name: "Resend", exact: true }).click();
  await dialog.getByRole("button", { name: "Resend 2 invitations" }).click();
  await dialog.getByRole("heading", { name: "2 invitations were sent again" }).waitFor();
  await dialog.getByText("These links weren’t emailed, because a person gets at most ten").waitFor();
  await dialog.getByRole("listitem").getByText(often).waitFor();
  expect(await links.count()).toBe(1);
  const link = linkIn((await links.textContent()) ?? "");
  await closeWithoutCopying(dialog);
  const { page } = await environment.browser.open();
  await page.goto(link);
  expect(await page.getByLabel("Email").inputValue()).toBe(often);
});

test("emails a password reset link, and doesn't reveal who has an account", async () => {
  const { page } = await environment.browser.open();
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await page.getByRole("button", { name: "Email me a link" }).click();
  await page.getByText("Enter an email address").waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByLabel("Email").fill("nobody@example.com");
  await page.getByRole("button", { name: "Email me a link" }).click();
  await page.getByText("If nobody@example.com has an account").waitFor();
  await page.locator("main:focus").waitFor();
  await page.goto(`${environment.baseUrl}/forgot-password`);
  await page.getByLabel("Email").fill(` ${email.toUpperCase()}`);
  await page.getByRole("button", { name: "Email me a link" }).click();
  await page.getByRole("heading", { name: "Check your email" }).waitFor();
  const mail = await mailbox.receive(email, 1);
  expect(mail.subject).toBe("Choose a new password");
  expect(mail.text).not.toContain("deletes"); // The invitation has verified her email address.
  expect(mail.text).toContain("Hello Grace Hopper,");
  await page.goto(linkIn(mail.text));
  await page.getByText(`For the account ${email}.`).waitFor();
  await page.getByLabel("New password").fill("four quiet foxes on ice");
  // Visiting a password manager doesn't load the account again, which could fail.
  let loads = 0;
  page.on("request", (request) => {
    if (request.url().includes("session.resetAccount")) loads += 1;
  });
  await page.clock.setSystemTime(Date.now() + 60_000);
  await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Your password was changed" }).waitFor();
  expect(loads).toBe(0);
  expect(mailbox.mails.map(({ to }) => to)).not.toContain("nobody@example.com");

  await grace.reload();
  await grace.getByRole("heading", { name: "Sign in" }).waitFor();
  await grace.getByLabel("Email").fill(email);
  await grace.getByLabel("Password").fill("four quiet foxes on ice");
  await grace.getByRole("button", { name: "Sign in" }).click();
  await grace.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await grace.goto(`${environment.baseUrl}/account/security`);
  const log = grace.getByRole("table", { name: "Security log" });
  await log.getByText("Emailed you a password reset link").waitFor();
  await log.getByText("Chose a new password with a link, which ended all sessions").waitFor();
});

test("changes the email address with a link to the new one, and notifies the former one", async () => {
  const next = "hopper@example.com";
  await grace.goto(`${environment.baseUrl}/account/profile`);
  await grace.getByLabel("New email address").fill(next);
  await grace.getByRole("button", { name: "Email me a link" }).click();
  await grace.getByText(`A link is on its way to ${next}`).waitFor();
  expect(await findProblemsInBothSchemes(grace)).toEqual([]);
  const { text } = await mailbox.receive(next);
  const { page } = await environment.browser.open();
  await page.goto(linkIn(text));
  await page.getByText("To change your email address, sign in to your account").waitFor();
  const cookies = await grace.context().cookies();
  await grace.goto(linkIn(text));
  await grace.getByText(`You will sign in with ${next}.`).waitFor();
  await grace.context().clearCookies();
  await grace.getByRole("button", { name: "Change email address" }).click();
  await grace.getByRole("heading", { name: "Sign in first" }).waitFor();
  await grace.context().addCookies(cookies);
  await grace.goto("about:blank");
  await grace.goto(linkIn(text));
  await grace.getByText(`You will sign in with ${next}.`).waitFor();
  await grace.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(grace)).toEqual([]);
  await grace.getByRole("button", { name: "Change email address" }).click();
  await grace.getByText(`Sign in with ${next} next time.`).waitFor();
  await grace.locator("main:focus").waitFor();
  expect((await mailbox.receive(email, 2)).subject).toBe("Your email address was changed");
  await grace.goto("about:blank");
  await grace.goto(linkIn(text));
  await grace.getByText("This link has expired, was already used, or belongs to another account.").waitFor();
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByLabel("Email").fill(next);
  await page.getByLabel("Password").fill("four quiet foxes on ice");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menu").getByText(next).waitFor();
  // An address with an account gets no link, and the page is the same.
  await page.goto(`${environment.baseUrl}/account/profile`);
  await page.getByLabel("New email address").fill(visitor.email);
  await page.getByRole("button", { name: "Email me a link" }).click();
  await page.getByText(`A link is on its way to ${visitor.email}`).waitFor();
  const subjects = mailbox.mails.flatMap(({ to, subject }) => (to === visitor.email ? [subject] : []));
  expect(subjects).toEqual(["Verify your email address"]);
});

test("verifies an email address with an emailed link, in a session of the account", async () => {
  const address = "margaret@example.com";
  const { page } = await environment.browser.open();
  await page.goto(`${environment.baseUrl}/sign-up`);
  await page.getByLabel("Name").fill("Margaret Hamilton");
  await page.getByLabel("Email").fill(address);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.waitForURL(/\/w\//);
  expect((await mailbox.receive(address)).subject).toBe("Verify your email address");
  await page.goto(`${environment.baseUrl}/account/notices`);
  const inApp = page.getByRole("checkbox", { name: "Your role changed, in the app" });
  const byEmail = page.getByRole("checkbox", { name: "Your role changed, by email" });
  await inApp.waitFor();
  expect(await byEmail.count()).toBe(0);
  await page.getByRole("link", { name: "verify your email address" }).click();
  await page.getByText("Unverified").waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Send verification email" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText(`A link is on its way to ${address}.`).waitFor();
  const link = linkIn((await mailbox.receive(address, 1)).text);

  const { page: elsewhere } = await environment.browser.open();
  await elsewhere.goto(link);
  await elsewhere.getByRole("heading", { name: "Sign in first" }).waitFor();
  expect(await findProblemsInBothSchemes(elsewhere)).toEqual([]);

  const cookies = await page.context().cookies();
  await page.goto(link);
  await page.getByText(`You are signed in with ${address}.`).waitFor();
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Verify email address" }).click();
  await page.getByRole("heading", { name: "Sign in first" }).waitFor();

  await page.context().addCookies(cookies);
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText(`You are signed in with ${address}.`).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Verify email address" }).click();
  await page.getByRole("heading", { name: "Your email address is verified" }).waitFor();
  await page.locator("main:focus").waitFor();
  await page.getByRole("link", { name: "Go to your profile" }).click();
  await page.getByText("Verified", { exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Send verification email" }).count()).toBe(0);

  await page.goto(`${environment.baseUrl}/account/notices`);
  await byEmail.click();
  await expect.poll(() => byEmail.isChecked()).toBe(false);
  await expect.poll(() => byEmail.isEnabled()).toBe(true);
  await page.reload();
  await inApp.waitFor();
  expect([await inApp.isChecked(), await byEmail.isChecked()]).toEqual([true, false]);
});

test("a new password for an unverified account deletes its keys, after a warning", async () => {
  const address = "katherine@example.com";
  const { page: intruder } = await environment.browser.open();
  await intruder.goto(`${environment.baseUrl}/sign-up`);
  await intruder.getByLabel("Name").fill("Not Katherine");
  await intruder.getByLabel("Email").fill(address);
  await intruder.getByLabel("Password").fill(visitor.password);
  await intruder.getByRole("button", { name: "Create account" }).click();
  await intruder.waitForURL(/\/w\//);
  const { key } = await proceduresOf(intruder).apiKeys.create.mutate({ name: "Backdoor" });
  const statusOf = async () =>
    (await fetch(`${environment.baseUrl}/open/me`, { headers: { Authorization: `Bearer ${key}` } })).status;
  expect(await statusOf()).toBe(200);
  await mailbox.receive(address);

  const { page } = await environment.browser.open();
  await page.goto(`${environment.baseUrl}/forgot-password`);
  await page.getByLabel("Email").fill(address);
  await page.getByRole("button", { name: "Email me a link" }).click();
  const mail = await mailbox.receive(address, 1);
  expect(mail.text).toContain("also deletes its API keys, second factors and linked sign-in methods");
  await page.goto(linkIn(mail.text));
  await page.getByText("A new password also deletes its API keys").waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByLabel("New password").fill("four quiet foxes on ice");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Your password was changed" }).waitFor();
  expect(await statusOf()).toBe(403);
});

test("the profile says when another link can be requested", async () => {
  await ada.goto(`${environment.baseUrl}/account/profile`);
  const verify = ada.getByRole("button", { name: "Send verification email" });
  const change = ada.getByRole("button", { name: "Email me a link" });
  const rejection = ada.getByText("Too many attempts. Try again after");
  // Sign-up has emailed the first verification link.
  for (let count = 1; count <= 5; count += 1) {
    const answered = ada.waitForResponse(/requestEmailVerification/);
    await verify.click();
    await answered;
    await expect.poll(() => verify.isEnabled()).toBe(true);
  }
  await expect.poll(() => rejection.count()).toBe(1);
  for (let count = 1; count <= 6; count += 1) {
    const answered = ada.waitForResponse(/requestEmailChange/);
    await ada.getByLabel("New email address").fill("babbage@example.com");
    await change.click();
    await answered;
    await expect.poll(() => change.isEnabled()).toBe(true);
  }
  await expect.poll(() => rejection.count()).toBe(2);
  expect(await ada.getByText("A link is on its way").count()).toBe(0);
});

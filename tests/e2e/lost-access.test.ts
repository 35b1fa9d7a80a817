import type { Page } from "playwright-core";
import { test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { returnToTab } from "./return-to-tab.ts";
import { untilFocused } from "./until-focused.ts";

// What open pages show when the user is removed from their workspace or gets another role.

let ada: Page;
let grace: Page;
let workspaceId: string;
let workspaceUrl: string;
/** The overview of Grace's own workspace. */
let ownUrl: string;
let keyspace: string;
let key: string;

const email = "grace@example.com";

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page: ada } = await browser.open());
  await enter(ada, baseUrl);
  const workspace = await getWorkspace(ada);
  workspaceId = workspace.id;
  workspaceUrl = `${baseUrl}/w/${workspace.slug}`;
  const { keyspaces, issuedKeys } = proceduresOf(ada);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const { id } = await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: "Acme" } });
  keyspace = `/keyspaces/${keyspaceId}`;
  key = `${keyspace}/keys/${id}`;
  ({ page: grace } = await browser.open());
  await enter(grace, baseUrl, email);
  ownUrl = `${baseUrl}/w/${(await getWorkspace(grace)).slug}`;
});

const lostAccess = () => grace.getByText("You are no longer a member of");

async function changeMember(change: "add" | "remove" | "role", role?: string): Promise<void> {
  const user = ["--workspace", workspaceId, "--user", email];
  await environment.command(["member", change, ...user, ...(role ? ["--role", role] : [])]);
}

/** Adds Grace to Ada's workspace, and opens a page of it. */
async function openAsMember(path: string, heading: string, role = "admin"): Promise<void> {
  await changeMember("add", role);
  await grace.goto(workspaceUrl + path);
  await grace.getByRole("heading", { name: heading, level: 1, exact: true }).waitFor();
}

/** Leaves the page, which says that Grace is no longer a member. Her own workspace opens. */
async function leave(): Promise<void> {
  await grace.getByRole("button", { name: "Continue" }).click();
  await grace.waitForURL(ownUrl);
}

test("a removed member who returns to the window is told so, and can leave the workspace", async () => {
  await openAsMember("/members", "Members");
  await changeMember("remove");
  await returnToTab(grace, () => lostAccess().isVisible());
  await leave();
});

test("a removed member is told so when only the session is loaded again", async () => {
  await openAsMember("/members", "Members");
  await changeMember("remove");
  // Another window of the same screen had the focus, so that this one stayed visible.
  await grace.evaluate("dispatchEvent(new Event('focus'))");
  await lostAccess().waitFor();
  await leave();
});

test("a removed member whose page stays in front is told so", async () => {
  await openAsMember(key, "Acme");
  await changeMember("remove");
  await lostAccess().waitFor();
  await leave();
});

test("a page removes what a lower role doesn't allow when a change is rejected", async () => {
  await openAsMember(keyspace, "Production");
  // The dialog hides the page.
  const opener = grace.locator("#content").getByRole("button", { name: "Issue key", includeHidden: true });
  await opener.click();
  const dialog = grace.getByRole("dialog");
  await untilFocused(dialog);
  await changeMember("role", "viewer");
  const name = dialog.getByLabel("Name", { exact: true });
  await name.fill("Globex");
  await dialog.getByRole("button", { name: "Issue key" }).click();
  await dialog.getByRole("alert").waitFor();
  await opener.waitFor({ state: "detached" });
  await name.fill("");
  await grace.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await changeMember("remove");
});

test("a member whose workspace was deleted is told so on return", async () => {
  await openAsMember("/members", "Members");
  const { slug } = await getWorkspace(ada);
  await environment.command(["workspace", "delete", workspaceId, "--confirm", slug]);
  await returnToTab(grace, () => lostAccess().isVisible());
  await leave();
});

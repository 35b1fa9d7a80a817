import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { gapBetween } from "./gap-between.ts";
import { holdCall } from "./hold-call.ts";
import { returnToTab } from "./return-to-tab.ts";

// Ada chooses how long the audit log of her workspace is kept. Each test continues where the previous one ended.

let ada: Page;
let slug = "";
let workspaceId = "";

const environment = prepareEnvironment(async ({ browser, baseUrl, change }) => {
  ({ page: ada } = await browser.open());
  await enter(ada, baseUrl);
  ({ slug, id: workspaceId } = await getWorkspace(ada));
  await change("update audit_events set occurred_at = occurred_at - interval '40 days'");
});

function dialogOf(page: Page) {
  return page.getByRole("dialog", { name: "Change how long the audit log is kept" });
}

test("the dialog shows what a retention deletes, and Enter doesn't delete events", async () => {
  await ada.goto(`${environment.baseUrl}/w/${slug}/settings`);
  await ada.getByText("Kept forever").waitFor();
  await ada.getByRole("button", { name: "Change retention" }).focus();
  await ada.keyboard.press("Enter");
  const dialog = dialogOf(ada);
  const days = dialog.getByLabel("Retention, in days");
  await days.fill("29");
  await dialog.getByText("Enter a whole number of days from 30 to 3,650, or leave empty.").waitFor();
  const save = dialog.getByRole("button", { name: "Save" });
  expect(await save.isDisabled()).toBe(true);
  await failCalls(ada, "audit.previewRetention");
  await days.fill("36");
  await dialog.getByRole("alert").getByText("Couldn’t count the events that would be deleted").waitFor();
  expect(await save.isDisabled()).toBe(true);
  await ada.unrouteAll();
  // Unlike a key press, a click waits until the button is enabled.
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog
    .getByRole("status")
    .getByText(/^1 event, the oldest from .*, will be deleted\./)
    .waitFor();
  await days.and(ada.locator(":focus")).waitFor();
  await days.fill("365");
  const effect = dialog.getByText("No event is deleted now.");
  await effect.waitFor();
  expect(await gapBetween(dialog.getByText("Leave empty to keep"), effect)).toBeCloseTo(16);
  // Events are counted again, because the former count may no longer be true.
  const count = await holdCall(ada, "audit.previewRetention");
  await days.fill("36");
  await count.isSent;
  expect(await save.isDisabled()).toBe(true);
  count.release();
  await dialog.getByText("will be deleted").waitFor();
  await days.fill("30");
  await dialog.getByText(/^1 event, the oldest from .*, will be deleted\./).waitFor();
  await ada.keyboard.press("Enter");
  await ada.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await dialog.getByRole("button", { name: "Delete events and save" }).waitFor();
  await ada.keyboard.press("Escape");
  await ada.getByRole("button", { name: "Discard" }).click();
  await dialog.waitFor({ state: "hidden" });
  await ada.getByText("Kept forever").waitFor();
});

test("the change is saved on a phone, by keyboard, and is in the audit log", async () => {
  await ada.setViewportSize({ width: 375, height: 812 });
  await ada.getByRole("button", { name: "Change retention" }).click();
  const dialog = dialogOf(ada);
  await dialog.getByLabel("Retention, in days").fill("30");
  await dialog.getByText("will be deleted").waitFor();
  await ada.waitForLoadState("networkidle");
  expect(await ada.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  await dialog.getByRole("button", { name: "Delete events and save" }).focus();
  await ada.keyboard.press("Enter");
  await ada.getByText("Kept for 30 days").waitFor();
  await ada.setViewportSize({ width: 1_280, height: 800 });
  await ada.goto(`${environment.baseUrl}/w/${slug}/audit`);
  await ada.getByText("changed the audit log retention from forever to 30 days").waitFor();
});

test("an empty field keeps the log forever again", async () => {
  await ada.goto(`${environment.baseUrl}/w/${slug}/settings`);
  await ada.getByRole("button", { name: "Change retention" }).click();
  await dialogOf(ada).getByLabel("Retention, in days").fill("");
  await ada.keyboard.press("Enter");
  await ada.getByText("Kept forever").waitFor();
});

test("a retention that someone else chose at the same time isn’t overwritten before the user has seen it", async () => {
  const { workspaces } = proceduresOf(ada);
  const change = async (changes: { readonly name?: string; readonly auditRetentionDays?: number }) => {
    const { version } = await workspaces.get.query({ workspaceId });
    await workspaces.update.mutate({ workspaceId, ...changes, version });
  };
  await ada.getByRole("button", { name: "Change retention" }).click();
  const dialog = dialogOf(ada);
  const days = dialog.getByLabel("Retention, in days");
  await days.fill("365");
  await dialog.getByText("No event is deleted now.").waitFor();
  await change({ auditRetentionDays: 90 });
  // The page behind the dialog shows the change.
  await returnToTab(ada, async () => (await ada.getByText("Kept for 90 days").count()) === 1);
  await dialog.getByRole("button", { name: "Save" }).click();
  const conflict = dialog
    .getByRole("alert")
    .filter({ hasText: "Save again to apply them, or discard them." });
  await conflict.getByText("Kept for 90 days").waitFor();
  await conflict.and(ada.locator(":focus")).waitFor();
  expect(await days.inputValue()).toBe("365");
  expect(await workspaces.get.query({ workspaceId })).toMatchObject({ auditRetentionDays: 90 });
  await ada.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await conflict.getByRole("button", { name: "Discard changes" }).click();
  await conflict.waitFor({ state: "detached" });
  expect(await days.inputValue()).toBe("90");
  await days.fill("180");
  await dialog.getByText("No event is deleted now.").waitFor();
  // Another setting is no conflict.
  await change({ name: "Renamed" });
  await returnToTab(
    ada,
    async () => (await ada.getByLabel("Name", { exact: true }).inputValue()) === "Renamed",
  );
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  await ada.getByText("Kept for 180 days").waitFor();
});

test("the overview says so if the audit log has no events", async () => {
  await environment.change("delete from audit_events");
  await ada.goto(`${environment.baseUrl}/w/${slug}`);
  const activity = ada.getByRole("region", { name: "Recent activity" });
  await activity.getByText("The audit log has no events.").waitFor();
  expect(await activity.getByRole("list").count()).toBe(0);
});

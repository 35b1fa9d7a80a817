import type { Page } from "playwright-core";
import { holdCall } from "./hold-call.ts";

/**
 * Opens another page while a call is in flight whose response contains a secret, expects the question whether to leave the page,
 * and stays. The call then returns.
 * @param send Lets the page send the call.
 */
export async function stayDuringCall(
  page: Page,
  procedure: string,
  send: () => Promise<void>,
): Promise<void> {
  const call = await holdCall(page, procedure);
  await send();
  await call.isSent;
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Profile" }).press("Enter");
  const question = page.getByRole("dialog", { name: "Leave this page?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await question.waitFor({ state: "detached" });
  call.release();
}

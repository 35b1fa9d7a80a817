import type { Page } from "playwright-core";
import { createKey, enter } from "../support/visitor.ts";
import type { Environment } from "./environment.ts";

/** Opens the API keys page of a new user, whose email address starts with `name`, with `count` keys. */
export async function openKeys(
  { browser, baseUrl }: Environment,
  name: string,
  count: number,
): Promise<Page> {
  const { page } = await browser.reopen();
  await enter(page, baseUrl, `${name}@example.com`);
  await Promise.all(Array.from({ length: count }, (_, number) => createKey(page, `Robot ${number}`)));
  await page.goto(`${baseUrl}/account/api-keys`);
  await page.getByRole("row").nth(1).waitFor();
  return page;
}

import type { Page } from "playwright-core";

export const visitor = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  password: "a horse that counts to ten",
} as const;

/** Signs up through the form, as a newcomer would, and waits for the overview. */
export async function signUp(page: Page, baseUrl: string, email: string = visitor.email): Promise<void> {
  await page.goto(`${baseUrl}/sign-up`);
  await page.getByLabel("Name").fill(visitor.name);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
}

/**
 * Signs up by the call that the form makes, for tests that open another page afterwards: the form and the overview take
 * seconds of processor time. The page is left on a file of the product's, where it can call procedures.
 */
export async function enter(page: Page, baseUrl: string, email: string = visitor.email): Promise<void> {
  const data = { name: visitor.name, email, password: visitor.password };
  const response = await page.context().request.post(`${baseUrl}/trpc/session.signUp`, { data });
  if (!response.ok()) throw new Error(`Nobody was signed up: ${await response.text()}`);
  await page.goto(`${baseUrl}/favicon.svg`);
}

/** Creates a key the way the page does, without its dialogs; answers the key. */
export async function createKey(page: Page, name: string, description = ""): Promise<string> {
  const answer: unknown = await page.evaluate(
    async (input) => {
      const response = await fetch("/trpc/apiKeys.create", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(input),
      });
      return await response.json();
    },
    { name, description },
  );
  return readKey(answer);
}

function readKey(answer: unknown): string {
  const { result } = answer as { result?: { data: { key: string } } }; // The router's type for this procedure.
  if (!result) throw new Error(`No key was created: ${JSON.stringify(answer)}`);
  return result.data.key;
}

/** Calls the open API with a key. */
export async function callOpenApi(baseUrl: string, key: string): Promise<Response> {
  return await fetch(`${baseUrl}/open/global/config`, { headers: { Authorization: `Bearer ${key}` } });
}

/** What the page's own user would paste. */
export async function readClipboard(page: Page): Promise<unknown> {
  // As text, because the types here are Node's, and its navigator has no clipboard.
  return await page.evaluate("navigator.clipboard.readText()");
}

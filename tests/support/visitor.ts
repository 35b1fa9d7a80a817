import type { Page } from "playwright-core";

export const visitor = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  password: "a horse that counts to ten",
} as const;

/** Signs up with the form, and waits for the overview. */
export async function signUp(page: Page, baseUrl: string, email: string = visitor.email): Promise<void> {
  await page.goto(`${baseUrl}/sign-up`);
  await page.getByLabel("Name").fill(visitor.name);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
}

/**
 * Signs up with the call that the form makes, for tests that open another page afterwards, because the form and the
 * overview take seconds of processor time. Leaves the page on a static file, where it can call procedures.
 */
export async function enter(page: Page, baseUrl: string, email: string = visitor.email): Promise<void> {
  await call(page, baseUrl, "session.signUp", { name: visitor.name, email, password: visitor.password });
}

/** Signs in as `enter` signs up. */
export async function signIn(page: Page, baseUrl: string, email: string): Promise<void> {
  await call(page, baseUrl, "session.signIn", { email, password: visitor.password });
}

async function call(page: Page, baseUrl: string, procedure: string, data: object): Promise<void> {
  const response = await page.context().request.post(`${baseUrl}/trpc/${procedure}`, { data });
  if (!response.ok()) throw new Error(`${procedure} failed: ${await response.text()}`);
  await page.goto(`${baseUrl}/favicon.svg`);
}

/** Creates a key with the call that the page makes, without its dialogs. Returns the key. */
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

/** Returns the content of the clipboard. */
export async function readClipboard(page: Page): Promise<unknown> {
  // As a string, because Node's types have no clipboard.
  return await page.evaluate("navigator.clipboard.readText()");
}

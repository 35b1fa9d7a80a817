import type { Page } from "playwright-core";

/** Calls a mutation the way the page does, without its dialogs; answers the result. */
export async function mutate(page: Page, procedure: string, input: unknown): Promise<unknown> {
  return await request(page, `/trpc/${procedure}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(input),
  });
}

/** Calls a query the way the page does; answers the result. */
export async function query(page: Page, procedure: string, input?: unknown): Promise<unknown> {
  const search = input === undefined ? "" : `?input=${encodeURIComponent(JSON.stringify(input))}`;
  return await request(page, `/trpc/${procedure}${search}`, {});
}

async function request(page: Page, path: string, options: RequestInit): Promise<unknown> {
  const answer = await page.evaluate(
    async ([address, init]) => (await fetch(address, init)).json(),
    [path, options as never] as const, // What a page can be handed is plain data, as these options are.
  );
  const { result } = answer as { result?: { data: unknown } }; // tRPC's own shape.
  if (!result) throw new Error(`${path} was refused: ${JSON.stringify(answer)}`);
  return result.data;
}

interface SessionWorkspace {
  readonly id: string;
  readonly slug: string;
}

/** The first workspace of whoever is signed in. */
export async function getWorkspace(page: Page): Promise<SessionWorkspace> {
  const session = await query(page, "session.current");
  const [workspace] = (session as { workspaces: SessionWorkspace[] }).workspaces; // The router's type for this procedure.
  if (!workspace) throw new Error("They have no workspace.");
  return workspace;
}

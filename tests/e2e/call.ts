import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient, httpLink, type TRPCClient } from "@trpc/client";
import type { Page } from "playwright-core";

/** Calls procedures as the page does, with its session and without its dialogs. */
export function proceduresOf(page: Page): TRPCClient<AppRouter> {
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: "/trpc",
        // What tRPC passes is plain data but for its signal, which is not passed on.
        fetch: (url, options) => fetchInPage(page, String(url), options as PlainRequest),
      }),
    ],
  });
}

interface PlainRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

async function fetchInPage(page: Page, url: string, request: PlainRequest): Promise<Response> {
  const { method, headers, body = null } = request;
  const [status, text] = await page.evaluate(
    async ([address, init]) => {
      const response = await fetch(address, init);
      return [response.status, await response.text()] as const;
    },
    [url, { method, headers, body }] as const,
  );
  return new Response(text, { status });
}

/** The first workspace of the person who is signed in. */
export async function getWorkspace(page: Page): Promise<{ readonly id: string; readonly slug: string }> {
  const session = await proceduresOf(page).session.current.query();
  const [workspace] = session?.workspaces ?? [];
  if (!workspace) throw new Error("They have no workspace.");
  return workspace;
}

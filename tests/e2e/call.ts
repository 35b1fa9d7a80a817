import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient, httpLink, type TRPCClient } from "@trpc/client";
import type { Page } from "playwright-core";

/** Calls procedures with the page's session, without its dialogs. */
export function proceduresOf(page: Page): TRPCClient<AppRouter> {
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: "/trpc",
        // tRPC passes plain data and a signal. The signal is not passed on.
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

/** The first workspace of the signed-in user. */
export async function getWorkspace(page: Page): Promise<{ readonly id: string; readonly slug: string }> {
  const session = await proceduresOf(page).session.current.query();
  const [workspace] = session?.workspaces ?? [];
  if (!workspace) throw new Error("They have no workspace.");
  return workspace;
}

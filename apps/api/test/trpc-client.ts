import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { AppRouter } from "../src/procedures/router.ts";

/** Creates a tRPC client that keeps cookies, as a browser does. `sent` are the headers of every request. */
export function openClient(baseUrl: string, sent: Readonly<Record<string, string>> = {}) {
  const jar = new Map<string, string>();
  const client = createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${baseUrl}/trpc`,
        fetch: async (url, init) => {
          const headers = new Headers(init?.headers);
          for (const [name, value] of Object.entries(sent)) headers.set(name, value);
          headers.set("Cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
          const response = await fetch(url, { ...(init as RequestInit), headers });
          for (const cookie of response.headers.getSetCookie()) {
            const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
            if (/max-age=0/i.test(cookie)) jar.delete(name);
            else jar.set(name, value);
          }
          return response;
        },
      }),
    ],
  });
  return { client, jar, cookie: () => [...jar].map(([name, value]) => `${name}=${value}`).join("; ") };
}

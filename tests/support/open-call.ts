/** A response of the open API. */
export interface OpenAnswer {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly body: string;
  readonly tookMs: number;
}

/** Long enough to end only requests that hang, even on a busy machine. Tests assert the deadline of 2 s themselves. */
const timeoutMs = 60_000;

/** Calls the open API with a key. @throws what `fetch` throws if there is no response. */
export async function callOpen(
  baseUrl: string,
  key: string,
  path = "/open/global/config",
): Promise<OpenAnswer> {
  const startedAt = performance.now();
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { Authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(timeoutMs),
  });
  const body = await response.text();
  const tookMs = performance.now() - startedAt;
  return {
    status: response.status,
    code: /"code":"(\w+)"/.exec(body)?.[1],
    retryAfter: response.headers.get("retry-after"),
    body,
    tookMs,
  };
}

/** Returns the status of a page that needs no key, such as `/healthz`. */
export async function statusOf(baseUrl: string, path: string): Promise<number> {
  const response = await fetch(`${baseUrl}${path}`, { signal: AbortSignal.timeout(timeoutMs) });
  await response.arrayBuffer();
  return response.status;
}

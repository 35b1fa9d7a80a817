/** What the open API answered. */
export interface OpenAnswer {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly body: string;
  readonly tookMs: number;
}

/** Nothing is promised to take longer than 2 s; who waits longer than this has found something that hangs. */
const patienceMs = 10_000;

/** Calls the open API with a key. @throws what `fetch` throws when there is no answer. */
export async function callOpen(
  baseUrl: string,
  key: string,
  path = "/open/global/config",
): Promise<OpenAnswer> {
  const startedAt = performance.now();
  const response = await fetch(`${baseUrl}${path}`, {
    headers: { Authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(patienceMs),
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

/** The status of a page that needs no key, such as `/healthz`. */
export async function statusOf(baseUrl: string, path: string): Promise<number> {
  const response = await fetch(`${baseUrl}${path}`, { signal: AbortSignal.timeout(patienceMs) });
  await response.arrayBuffer();
  return response.status;
}

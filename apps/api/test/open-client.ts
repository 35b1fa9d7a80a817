import type { TestApp } from "./test-app.ts";

export interface OpenReply {
  readonly status: number;
  /** Empty if the response has none, like the next one. */
  readonly etag: string;
  /** The `Idempotent-Replayed` header. */
  readonly replayed: string;
  /** The `Retry-After` header. */
  readonly retryAfter: string;
  // Not validated, because the tests check the members.
  readonly body: Readonly<Record<string, unknown>> & { readonly data?: readonly Record<string, unknown>[] };
}

export interface OpenClient {
  /** Calls the open API with an API key. `path` is the path under `/open`. */
  readonly send: (
    secret: string,
    request: readonly [method: string, path: string],
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<OpenReply>;
  /** Whether an API key is valid: 200, or 403 if not. */
  readonly statusOf: (secret: string) => Promise<number>;
}

/** Creates a client of the open API. `getApp` is called for each request, because tests start the app later. */
export function createOpenClient(getApp: () => Pick<TestApp, "baseUrl">): OpenClient {
  const send: OpenClient["send"] = async (secret, [method, path], body, headers = {}) => {
    const response = await fetch(`${getApp().baseUrl}/open${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${secret}`,
        ...(body ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return {
      status: response.status,
      etag: response.headers.get("etag") ?? "",
      replayed: response.headers.get("idempotent-replayed") ?? "",
      retryAfter: response.headers.get("retry-after") ?? "",
      body: text === "" ? {} : JSON.parse(text),
    };
  };
  return { send, statusOf: async (secret) => (await send(secret, ["GET", "/me"])).status };
}

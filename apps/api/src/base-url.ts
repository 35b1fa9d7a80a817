import type { Env } from "./env.ts";

/** The URL that people use: `BASE_URL`, or by default the host and the port that the server listens on. */
export function baseUrlOf({ baseUrl, host }: Pick<Env, "baseUrl" | "host">, port: number): string {
  return baseUrl ?? `http://${hostInUrl(host)}:${port}`;
}

function hostInUrl(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

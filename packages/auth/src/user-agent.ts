import { redactKeys } from "./redact-keys.ts";

/** In characters. A User-Agent only helps users to tell their devices apart. */
const maxLength = 256;

/** Returns the User-Agent of a request as it is stored: without API keys, and truncated to 256 characters. */
export function readUserAgent(headers: Headers): string | undefined {
  const value = headers.get("user-agent");
  return value ? redactKeys(value).slice(0, maxLength) : undefined;
}

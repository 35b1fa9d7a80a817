import { redactKeys } from "./redact-keys.ts";

/** In characters. A User-Agent only helps users to tell their devices apart. */
const maxLength = 256;

/** Returns a User-Agent as it is stored: without API keys, and truncated to 256 characters; null without one. */
export function shortenUserAgent(value: string | null | undefined): string | null {
  return value ? redactKeys(value).slice(0, maxLength) : null;
}

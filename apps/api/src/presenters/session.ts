import { encodeId } from "@latchkey/db/ids";
import type { ListedSession } from "@latchkey/db/sessions";
import Bowser from "bowser";

/** A session in the list of its user, for the web app. */
export function presentListedSession({ id, createdAt, lastUsedAt, address, userAgent }: ListedSession) {
  return {
    id: encodeId("session", id),
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt.toISOString(),
    address,
    device: presentDevice(userAgent),
  };
}

/** The browser and operating system that a User-Agent names. Null for what is unknown. */
export function presentDevice(userAgent: string | null) {
  if (!userAgent) return { browser: null, system: null };
  const { browser, os } = Bowser.parse(userAgent);
  const [version] = (browser.version ?? "").split(".");
  return {
    browser: browser.name ? [browser.name, version].filter(Boolean).join(" ") : null,
    system: os.name ?? null,
  };
}

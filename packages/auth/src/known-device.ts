import { randomBytes } from "node:crypto";
import { originLifetimeDays } from "@latchkey/db/sign-in-origins";

/** The scheme of a URL, which decides how cookies are named: `__Host-` needs HTTPS. */
export interface CookieScheme {
  readonly isSecure: boolean;
}

/** Creates an ID for a device: 192 random bits, which nobody can guess. */
export function createDeviceId(): string {
  return randomBytes(24).toString("base64url");
}

/** Reads the ID of the device that a request comes from, if its browser has signed in to any account before. */
export function readDeviceId(headers: Headers, scheme: CookieScheme): string | undefined {
  const prefix = `${nameOf(scheme)}=`;
  const cookies = (headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  const value = cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length);
  return value && /^[A-Za-z0-9_-]{32}$/.test(value) ? value : undefined;
}

/** The `Set-Cookie` value by which a device is recognized. It gives no access to anything. */
export function deviceCookie(deviceId: string, scheme: CookieScheme): string {
  const maxAgeSeconds = originLifetimeDays * 86_400;
  const attributes = `Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Strict`;
  return `${nameOf(scheme)}=${deviceId}; ${attributes}${scheme.isSecure ? "; Secure" : ""}`;
}

function nameOf({ isSecure }: CookieScheme): string {
  return isSecure ? "__Host-latchkey-device" : "latchkey-device";
}

import { originLifetimeDays } from "@latchkey/db/sign-in-origins";
import { type CookieScheme, createCookieValue, formatOwnCookie, readOwnCookie } from "./own-cookie.ts";

const name = "latchkey-device";

/** Creates an unguessable ID for a device. */
export function createDeviceId(): string {
  return createCookieValue();
}

/** Reads the ID of the device that a request comes from, if its browser has signed in to any account before. */
export function readDeviceId(headers: Headers, scheme: CookieScheme): string | undefined {
  return readOwnCookie(headers, name, scheme);
}

/** The `Set-Cookie` value by which a device is recognized. It gives no access to anything. */
export function deviceCookie(deviceId: string, scheme: CookieScheme): string {
  return formatOwnCookie({ name, value: deviceId, maxAgeSeconds: originLifetimeDays * 86_400 }, scheme);
}

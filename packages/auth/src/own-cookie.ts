import { randomBytes } from "node:crypto";

/** The scheme of a URL, which decides how cookies are named: `__Host-` needs HTTPS. */
export interface CookieScheme {
  readonly isSecure: boolean;
}

export interface OwnCookie {
  readonly name: string;
  readonly value: string;
  /** 0 deletes it. */
  readonly maxAgeSeconds: number;
}

/** Creates an unguessable value of a cookie: 192 random bits. */
export function createCookieValue(): string {
  return randomBytes(24).toString("base64url");
}

/** Reads a cookie whose value {@link createCookieValue} created. */
export function readOwnCookie(headers: Headers, name: string, scheme: CookieScheme): string | undefined {
  const prefix = `${fullName(name, scheme)}=`;
  const cookies = (headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  const value = cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length);
  return value && /^[A-Za-z0-9_-]{32}$/.test(value) ? value : undefined;
}

/** The `Set-Cookie` value of a cookie that only this origin sends and no script reads. */
export function formatOwnCookie({ name, value, maxAgeSeconds }: OwnCookie, scheme: CookieScheme): string {
  const attributes = `Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Strict`;
  return `${fullName(name, scheme)}=${value}; ${attributes}${scheme.isSecure ? "; Secure" : ""}`;
}

function fullName(name: string, { isSecure }: CookieScheme): string {
  return isSecure ? `__Host-${name}` : name;
}

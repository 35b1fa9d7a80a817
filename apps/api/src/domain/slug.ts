import { randomInt } from "node:crypto";

const maxLength = 40;

/** The slug of a name: lower-case ASCII letters and digits, in words joined by hyphens; never empty. */
export function createSlug(name: string, suffix?: string): string {
  const words = name
    .normalize("NFKD")
    .replace(/[\p{Mark}’']/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, maxLength)
    .replace(/^-+|-+$/g, "");
  return [words || "workspace", ...(suffix ? [suffix] : [])].join("-");
}

/** Four random characters to append to a slug that is taken. */
export function randomSlugSuffix(): string {
  return randomInt(36 ** 4)
    .toString(36)
    .padStart(4, "0");
}

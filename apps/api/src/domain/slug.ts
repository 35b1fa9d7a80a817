import { randomInt } from "node:crypto";

const maxLength = 40;

/** A name as it stands in an address: lower-case ASCII letters and digits, in words joined by hyphens; never empty. */
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

/** Four characters that make a taken slug another one. */
export function randomSlugSuffix(): string {
  return randomInt(36 ** 4)
    .toString(36)
    .padStart(4, "0");
}

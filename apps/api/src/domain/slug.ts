import { randomInt } from "node:crypto";

const maxNameLength = 40;
const suffixLength = 4;

/** The longest slug: a name, a hyphen and a suffix. */
export const maxSlugLength = maxNameLength + 1 + suffixLength;

/** The slug of a name: lower-case ASCII letters and digits, in words joined by hyphens; never empty. */
export function createSlug(name: string, suffix?: string): string {
  const words = name
    .normalize("NFKD")
    .replace(/[\p{Mark}’']/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, maxNameLength)
    .replace(/^-+|-+$/g, "");
  return [words || "workspace", ...(suffix ? [suffix] : [])].join("-");
}

/** Four random characters to append to a slug that is taken. */
export function randomSlugSuffix(): string {
  return randomInt(36 ** suffixLength)
    .toString(36)
    .padStart(suffixLength, "0");
}

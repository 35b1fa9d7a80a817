import type { SessionWorkspace } from "./trpc.ts";

const lastEntry = "latchkey.workspace";
const withoutAuditLogEntry = "latchkey.without-audit-log";

/** What stands in place of a slug for who has no workspace. */
export const noSlug = "";
/** Of so many workspaces at most is remembered that they show no audit log, the latest first. */
const withoutAuditLogMax = 50;

/** Remembers the workspace last worked in, so that personal pages lead back to it. */
export function rememberWorkspace(slug: string): void {
  write(lastEntry, slug);
}

/** The workspace last worked in, else the first; undefined for who has none. */
export function findHomeWorkspace(workspaces: readonly SessionWorkspace[]): SessionWorkspace | undefined {
  return workspaces.find((workspace) => workspace.slug === findRememberedSlug()) ?? workspaces[0];
}

/** The slug of the workspace last worked in, which may be gone or another person’s; `noSlug` for who had none. */
export function findRememberedSlug(): string | undefined {
  return read(lastEntry);
}

/** Remembers whether the navigation shows the audit log of a workspace, so that it has its shape before roles are known. */
export function rememberAuditLog(slug: string, isShown: boolean): void {
  const others = slugsWithoutAuditLog().filter((other) => other !== slug);
  const slugs = isShown ? others : [slug, ...others].slice(0, withoutAuditLogMax);
  write(withoutAuditLogEntry, slugs.join(" "));
}

/** Whether the navigation showed the audit log of a workspace last; also where nobody knows. */
export function wasAuditLogShown(slug: string): boolean {
  return !slugsWithoutAuditLog().includes(slug);
}

function slugsWithoutAuditLog(): readonly string[] {
  return read(withoutAuditLogEntry)?.match(/\S+/g) ?? [];
}

function read(entry: string): string | undefined {
  try {
    return localStorage.getItem(entry) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(entry: string, text: string): void {
  try {
    localStorage.setItem(entry, text);
  } catch {
    // Storage is blocked: the first workspace stands in, and the navigation may move once.
  }
}

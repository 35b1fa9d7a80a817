import type { SessionWorkspace } from "./trpc.ts";

const lastWorkspaceKey = "latchkey.workspace";
const operatorKey = "latchkey.operator";
const withoutAuditLogKey = "latchkey.without-audit-log";

/** Stored instead of a slug if the user has no workspace. */
export const noSlug = "";
/** The most workspaces without an audit log to remember, the latest first. */
const withoutAuditLogMax = 50;

/** Remembers the last used workspace, so that account pages lead back to it. */
export function rememberWorkspace(slug: string): void {
  write(lastWorkspaceKey, slug);
}

/** Returns the last used workspace, or else the first one that is enabled; undefined if the user has none. */
export function findHomeWorkspace(workspaces: readonly SessionWorkspace[]): SessionWorkspace | undefined {
  return (
    workspaces.find(({ slug }) => slug === findRememberedSlug()) ??
    workspaces.find(({ isDisabled }) => !isDisabled) ??
    workspaces[0]
  );
}

/**
 * Returns the slug of the last used workspace, which may be deleted or another user's; `noSlug` if
 * the user had none.
 */
export function findRememberedSlug(): string | undefined {
  return read(lastWorkspaceKey);
}

/**
 * Remembers whether the navigation shows the audit log of a workspace, for its layout before roles
 * are loaded.
 */
export function rememberAuditLog(slug: string, isShown: boolean): void {
  const others = slugsWithoutAuditLog().filter((other) => other !== slug);
  const slugs = isShown ? others : [slug, ...others].slice(0, withoutAuditLogMax);
  write(withoutAuditLogKey, slugs.join(" "));
}

/** Whether the navigation last showed the audit log of a workspace. True if unknown. */
export function wasAuditLogShown(slug: string): boolean {
  return !slugsWithoutAuditLog().includes(slug);
}

/** Remembers whether the navigation shows the pages of the instance, for its layout before the session is loaded. */
export function rememberOperator(isOperator: boolean): void {
  write(operatorKey, isOperator ? "yes" : "");
}

export function wasOperator(): boolean {
  return read(operatorKey) === "yes";
}

function slugsWithoutAuditLog(): readonly string[] {
  return read(withoutAuditLogKey)?.match(/\S+/g) ?? [];
}

function read(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Storage is blocked: the first workspace is used instead, and the navigation can shift once.
  }
}

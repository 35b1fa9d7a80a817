import { readStored, store } from "./browser-storage.ts";
import type { SessionWorkspace } from "./trpc.ts";

const lastWorkspaceKey = "latchkey.workspace";
const operatorKey = "latchkey.operator";
const withoutAuditLogKey = "latchkey.without-audit-log";

/** Stored instead of a slug if the user has no workspace. */
export const noSlug = "";
/** The most workspaces without an audit log to remember, the latest first. */
const withoutAuditLogMax = 50;

/**
 * Remembers the last used workspace, so that account pages lead back to it. If storage is blocked, they lead to the first one, and
 * the navigation can shift once.
 */
export function rememberWorkspace(slug: string): void {
  store(lastWorkspaceKey, slug);
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
  return readStored(lastWorkspaceKey);
}

/**
 * Remembers whether the navigation shows the audit log of a workspace, for its layout before roles
 * are loaded.
 */
export function rememberAuditLog(slug: string, isShown: boolean): void {
  const others = slugsWithoutAuditLog().filter((other) => other !== slug);
  const slugs = isShown ? others : [slug, ...others].slice(0, withoutAuditLogMax);
  store(withoutAuditLogKey, slugs.join(" "));
}

/** Whether the navigation last showed the audit log of a workspace. True if unknown. */
export function wasAuditLogShown(slug: string): boolean {
  return !slugsWithoutAuditLog().includes(slug);
}

/** Remembers whether the navigation shows the pages of the instance, for its layout before the session is loaded. */
export function rememberOperator(isOperator: boolean): void {
  store(operatorKey, isOperator ? "yes" : "");
}

export function wasOperator(): boolean {
  return readStored(operatorKey) === "yes";
}

function slugsWithoutAuditLog(): readonly string[] {
  return readStored(withoutAuditLogKey)?.match(/\S+/g) ?? [];
}

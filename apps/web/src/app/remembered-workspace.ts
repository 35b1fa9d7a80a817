import type { SessionWorkspace } from "../server/trpc.ts";

const entry = "latchkey.workspace";

/** Remembers the workspace last worked in, so that personal pages lead back to it. */
export function rememberWorkspace(slug: string): void {
  try {
    localStorage.setItem(entry, slug);
  } catch {
    // Storage is blocked: the first workspace stands in.
  }
}

/** The workspace last worked in, else the first; undefined for who has none. */
export function findHomeWorkspace(workspaces: readonly SessionWorkspace[]): SessionWorkspace | undefined {
  return workspaces.find((workspace) => workspace.slug === findRememberedSlug()) ?? workspaces[0];
}

/** The slug of the workspace last worked in, which may be gone or another person’s. */
export function findRememberedSlug(): string | undefined {
  try {
    return localStorage.getItem(entry) ?? undefined;
  } catch {
    return undefined;
  }
}

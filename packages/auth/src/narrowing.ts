import type { WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import { listPermissions, type Permission, roleHolds } from "./permissions.ts";

/** What a key is held to, beside the rights of its user. */
export interface Narrowing {
  /** The workspaces that it reaches, if its user does; undefined for all of them. */
  readonly workspaceIds: ReadonlySet<WorkspaceId> | undefined;
  /** The permissions that it has, if its user does; undefined for all of them. */
  readonly permissions: ReadonlySet<string> | undefined;
  /** Whether it only reads: no permission but those that end in `:read`. */
  readonly isReadOnly: boolean;
}

/** What is stored of a key's narrowing; undefined for a key that is not narrowed. */
export function readNarrowing(stored: {
  readonly workspaceIds: readonly WorkspaceId[] | null;
  readonly permissions: readonly string[] | null;
  readonly isReadOnly: boolean;
}): Narrowing | undefined {
  const { workspaceIds, permissions, isReadOnly } = stored;
  if (!workspaceIds && !permissions && !isReadOnly) return undefined;
  return {
    workspaceIds: workspaceIds ? new Set(workspaceIds) : undefined,
    permissions: permissions ? new Set(permissions) : undefined,
    isReadOnly,
  };
}

/** Whether a key that is narrowed so reaches a workspace, as far as the key goes. */
export function reaches(narrowing: Narrowing | undefined, workspaceId: WorkspaceId): boolean {
  return narrowing?.workspaceIds?.has(workspaceId) ?? true;
}

/** Whether a key that is narrowed so may do this, as far as the key goes. */
export function permits(narrowing: Narrowing | undefined, permission: Permission): boolean {
  if (!narrowing) return true;
  if (narrowing.isReadOnly && !permission.endsWith(":read")) return false;
  return narrowing.permissions?.has(permission) ?? true;
}

/** The right of a request: what its user's role holds, and its key, if it has one, is not kept from. */
export function holds(role: Role, narrowing: Narrowing | undefined, permission: Permission): boolean {
  return roleHolds(role, permission) && permits(narrowing, permission);
}

/**
 * Whether somebody may give or take the role `granted`: nobody grants more than they hold, by their own role and by the
 * key that they act with, and nobody takes from somebody who holds more.
 */
export function mayGrant(role: Role, narrowing: Narrowing | undefined, granted: Role): boolean {
  return [...listPermissions(granted), "members:manage" as const].every((permission) =>
    holds(role, narrowing, permission),
  );
}

const none: ReadonlySet<WorkspaceId> = new Set();

/** The workspaces that a key may see in a list, if its user does; undefined for all of them. */
export function readableWorkspaces(narrowing: Narrowing | undefined): ReadonlySet<WorkspaceId> | undefined {
  return permits(narrowing, "workspace:read") ? narrowing?.workspaceIds : none;
}

import { AppError } from "@latchkey/errors";

/** How much one user, or one workspace, can have. What is there already stays when a quota is lowered. */
export interface Quotas {
  /** Keys that are not deleted. */
  readonly keysPerUser: number;
  /** Workspaces that the user owns. */
  readonly workspacesPerUser: number;
  readonly membersPerWorkspace: number;
}

export const defaultQuotas: Quotas = {
  keysPerUser: 1_000,
  workspacesPerUser: 100,
  membersPerWorkspace: 1_000,
};

const told = {
  keysPerUser: {
    what: "API keys per user",
    variable: "MAX_KEYS_PER_USER",
    remedy: "Delete a key that is no longer used",
  },
  workspacesPerUser: {
    what: "workspaces owned by one user",
    variable: "MAX_WORKSPACES_PER_USER",
    remedy: "Delete a workspace that is no longer used",
  },
  membersPerWorkspace: {
    what: "members per workspace",
    variable: "MAX_MEMBERS_PER_WORKSPACE",
    remedy: "Remove a member",
  },
} as const satisfies Record<keyof Quotas, object>;

/**
 * Checks that there is room for one more. The caller holds a lock that keeps others from adding one between the count and
 * the end of the transaction.
 * @throws {AppError} UNPROCESSABLE_CONTENT with an issue `quota_exceeded`. Not 429, which clients retry by themselves, nor
 *   403, which tells nothing.
 */
export function requireRoom(quotas: Quotas, name: keyof Quotas, count: number): void {
  if (count < quotas[name]) return;
  const { what, variable, remedy } = told[name];
  const limit = `The limit for ${what} (${quotas[name].toLocaleString("en-US")}) is reached.`;
  const message = `${limit} ${remedy}, or ask the operator to raise ${variable}.`;
  throw new AppError("UNPROCESSABLE_CONTENT", {
    message,
    issues: [{ path: "", code: "quota_exceeded", message }],
  });
}

/** The fields of a workspace that its members edit. */
export interface WorkspaceFields {
  readonly name: string;
  /** May be empty. */
  readonly description: string;
  /** Whether members need a second factor to use the workspace, in the web app and with their API keys. */
  readonly requiresSecondFactor: boolean;
  /** After how many days an event of the audit log is deleted; null keeps the log forever. */
  readonly auditRetentionDays: number | null;
}

/** An edit of a workspace: the fields that are present replace the stored ones. */
export type WorkspaceFieldChanges = {
  readonly [Field in keyof WorkspaceFields]?: WorkspaceFields[Field] | undefined;
};

/** The fields of a new workspace: all but the name are optional. */
export type NewWorkspaceFields = Pick<WorkspaceFields, "name"> & WorkspaceFieldChanges;

/** The audit action for a change of each field. */
export const workspaceFieldActions = {
  name: "workspace.renamed",
  description: "workspace.description-changed",
  requiresSecondFactor: "workspace.second-factor-requirement-changed",
  auditRetentionDays: "workspace.audit-retention-changed",
} as const satisfies Record<keyof WorkspaceFields, string>;

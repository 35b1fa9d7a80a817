import type { Command } from "commander";
import type { ActionOf } from "../action-of.ts";

export function addWorkspaceCommands(program: Command, actionOf: ActionOf): void {
  const workspace = program.command("workspace").description("tenants of the instance");
  workspace
    .command("create")
    .description("create a workspace; its slug is made from its name and never changes")
    .requiredOption("--owner <user>", "the first owner: an email address or a user ID")
    .requiredOption("--name <name>", "the name of the workspace")
    .action(actionOf(async () => (await import("./create-workspace.ts")).createWorkspaceTask));
  workspace
    .command("list")
    .description("list the workspaces of the instance, oldest first")
    .action(actionOf(async () => (await import("./list-workspaces.ts")).listWorkspacesTask));
  workspace
    .command("rename <id>")
    .description("change the name of a workspace; its slug stays the same")
    .requiredOption("--name <name>", "the new name")
    .action(actionOf(async () => (await import("./rename-workspace.ts")).renameWorkspaceTask));
  workspace
    .command("delete <id>")
    .description("delete a workspace, its members and its audit log; this can't be undone")
    .requiredOption("--confirm <slug>", "the slug of the workspace, to confirm the deletion")
    .action(actionOf(async () => (await import("./delete-workspace.ts")).deleteWorkspaceTask));
}

import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

export function addWorkspaceCommands(program: Command, createAction: CreateAction): void {
  const workspace = program.command("workspace").description("tenants of the instance");
  workspace
    .command("create")
    .description("create a workspace; its slug is derived from its name and never changes")
    .requiredOption("--owner <user>", "the first owner: an email address or a user ID")
    .requiredOption("--name <name>", "the name of the workspace")
    .option("--description <text>", "what the workspace is for (default: none)")
    .action(createAction(async () => (await import("./create-workspace.ts")).createWorkspaceTask));
  workspace
    .command("list")
    .description("list the workspaces of the instance, oldest first")
    .action(createAction(async () => (await import("./list-workspaces.ts")).listWorkspacesTask));
  workspace
    .command("edit <id>")
    .alias("rename") // Its name before there was a description.
    .description("change a workspace; settings without an option stay the same, and so does the slug")
    .option("--name <name>", "the new name")
    .option("--description <text>", 'the new description; "" removes it')
    .option(
      "--requires-second-factor",
      "members need a second factor to use the workspace, including with their API keys",
    )
    .option("--no-requires-second-factor", "members don't need a second factor")
    .option("--audit-retention-days <days>", "delete events of the audit log after this many days, or none")
    .option(
      "--preview",
      "with --requires-second-factor: change nothing, and list up to 1,000 members without a second factor and up to 1,000 API keys that would stop working",
    )
    .action(createAction(async () => (await import("./edit-workspace.ts")).editWorkspaceTask));
  workspace
    .command("transfer <id>")
    .description(
      "make a member the owner of a workspace, without asking them; the former owner becomes an admin",
    )
    .requiredOption("--to <user>", "the new owner, who is a member: an email address or a user ID")
    .option("--from <user>", "the owner who becomes an admin (default: the only owner)")
    .action(createAction(async () => (await import("./transfer-workspace.ts")).transferWorkspaceTask));
  workspace
    .command("keys <id>")
    .description("list the API keys that can reach a workspace, oldest first")
    .action(createAction(async () => (await import("./list-workspace-keys.ts")).listWorkspaceKeysTask));
  workspace
    .command("policy <id>")
    .description("show the policy of a workspace for the API keys that reach it")
    .action(createAction(async () => (await import("./show-policy.ts")).showPolicyTask));
  workspace
    .command("set-policy <id>")
    .description("change the API key policy; requirements without an option stay the same")
    .option(
      "--max-lifetime <days>",
      "the maximum number of days from a key's creation or last rotation to its expiry, or none",
    )
    .option(
      "--max-idle <days>",
      "reject keys that haven't been used in the workspace for this many days, or none",
    )
    .option("--require-expiry", "reject keys that never expire")
    .option("--no-require-expiry", "accept keys that never expire")
    .option("--require-ip-ranges", "reject keys that aren't restricted to IP ranges")
    .option("--no-require-ip-ranges", "accept keys that aren't restricted to IP ranges")
    .option("--preview", "change nothing, and list up to 20 keys that would stop working, last used first")
    .action(createAction(async () => (await import("./set-policy.ts")).setPolicyTask));
  workspace
    .command("disable <id>")
    .description(
      "disable a workspace: its issued keys and API keys in it are rejected, and its members can't use it, from the next request until it is enabled",
    )
    .option("--preview", "change nothing, and show how many members and keys the workspace has")
    .action(createAction(async () => (await import("./set-workspace-disabled.ts")).disableWorkspaceTask));
  workspace
    .command("enable <id>")
    .description("enable a disabled workspace: its members and keys work again from the next request")
    .option("--preview", "change nothing, and show how many members and keys the workspace has")
    .action(createAction(async () => (await import("./set-workspace-disabled.ts")).enableWorkspaceTask));
  workspace
    .command("delete <id>")
    .description(
      "delete a workspace with its keyspaces, service accounts and audit log; its members keep their accounts; this can't be undone",
    )
    .requiredOption("--confirm <slug>", "the slug of the workspace, to confirm the deletion")
    .action(createAction(async () => (await import("./delete-workspace.ts")).deleteWorkspaceTask));
}

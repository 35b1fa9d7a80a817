import { roles } from "@latchkey/auth/permissions";
import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

const workspaceOption = ["--workspace <id>", "the ID of the workspace"] as const;
const userOption = ["--user <user>", "the user: an email address or a user ID"] as const;
const roleOption = ["--role <role>", `the role: ${roles.join(", ")}`] as const;

const previewOption = [
  "--preview",
  "change nothing, and list up to 50 API keys that would stop working or lose permissions, busiest first",
] as const;

export function addMemberCommands(program: Command, createAction: CreateAction): void {
  const member = program.command("member").description("users in workspaces");
  member
    .command("add")
    .description("add a user to a workspace; applies to their next request")
    .requiredOption(...workspaceOption)
    .requiredOption(...userOption)
    .requiredOption(...roleOption)
    .action(createAction(async () => (await import("./add-member.ts")).addMemberTask));
  member
    .command("list")
    .description("list the members of a workspace, in the order in which they joined")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./list-members.ts")).listMembersTask));
  member
    .command("role")
    .description("change the role of a member; applies to their next request")
    .requiredOption(...workspaceOption)
    .requiredOption(...userOption)
    .requiredOption(...roleOption)
    .option(...previewOption)
    .action(createAction(async () => (await import("./change-role.ts")).changeRoleTask));
  member
    .command("remove")
    .description("remove a user from a workspace; their API keys and sessions lose access immediately")
    .requiredOption(...workspaceOption)
    .requiredOption(...userOption)
    .option(...previewOption)
    .action(createAction(async () => (await import("./remove-member.ts")).removeMemberTask));
  member
    .command("replace-keys")
    .description(
      "create a service account with the role of a member, and an API key with the same restrictions for each of the member's active keys",
    )
    .requiredOption(...workspaceOption)
    .requiredOption(...userOption)
    .requiredOption("--name <name>", "the name of the service account")
    .action(createAction(async () => (await import("./replace-keys.ts")).replaceKeysTask));
}

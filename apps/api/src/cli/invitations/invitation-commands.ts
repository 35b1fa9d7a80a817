import { roles } from "@latchkey/auth/permissions";
import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

const workspaceOption = ["--workspace <id>", "the ID of the workspace"] as const;

export function addInvitationCommands(program: Command, createAction: CreateAction): void {
  const invitation = program.command("invitation").description("invitations to workspaces");
  invitation
    .command("create")
    .description("create a link to join a workspace, which works once, within seven days")
    .requiredOption(...workspaceOption)
    .requiredOption("--email <email>", "the email address of the account that joins")
    .requiredOption("--role <role>", `the role: ${roles.join(", ")}`)
    .action(createAction(async () => (await import("./create-invitation.ts")).createInvitationTask));
  invitation
    .command("list")
    .description("list the invitations to a workspace that nobody has accepted yet, oldest first")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./list-invitations.ts")).listInvitationsTask));
  invitation
    .command("resend <id>")
    .description("replace the link of an invitation, which is then valid for seven days again")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./resend-invitation.ts")).resendInvitationTask));
  invitation
    .command("revoke <id>")
    .description("revoke an invitation; its link stops working immediately")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./revoke-invitation.ts")).revokeInvitationTask));
}

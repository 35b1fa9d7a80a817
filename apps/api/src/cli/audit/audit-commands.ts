import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

export function addAuditCommands(program: Command, createAction: CreateAction): void {
  const audit = program.command("audit").description("audit logs of workspaces");
  audit
    .command("export <workspace>")
    .description("print the audit log of a workspace, newest first; --json has no effect")
    .requiredOption("--format <format>", "the format: csv, ndjson")
    .option("--from <time>", "only changes at this time or later: a date or a time in UTC")
    .option("--to <time>", "only changes before this time")
    .option(
      "--actor <user>",
      "only changes made by this user: an email address, or the ID of a user or service account, even a deleted one",
    )
    .option("--action <action>", "only changes with this action, such as member.removed")
    .option(
      "--target <id>",
      "only changes to this user, API key, invitation, webhook, keyspace, issued key, consumer or workspace",
    )
    .action(createAction(async () => (await import("./export-audit-log.ts")).exportAuditLogTask));
}

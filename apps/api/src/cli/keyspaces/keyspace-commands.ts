import type { Command } from "commander";
import { collect } from "../collect.ts";
import type { CreateAction } from "../create-action.ts";

const workspaceOption = ["--workspace <id>", "the ID of the workspace"] as const;

export function addKeyspaceCommands(program: Command, createAction: CreateAction): void {
  const keyspace = program
    .command("keyspace")
    .description("keyspaces, from which workspaces issue keys to their own consumers");
  keyspace
    .command("create")
    .description("create a keyspace in a workspace")
    .requiredOption(...workspaceOption)
    .requiredOption("--name <name>", "the name of the keyspace")
    .requiredOption("--prefix <prefix>", "what issued keys start with, such as acme_live")
    .option("--environment <text>", "a label, such as production", "")
    .option(
      "--default-lifetime <days>",
      "how long new keys are valid, such as 90d (default: they don't expire)",
    )
    .option(
      "--default-permission <permission>",
      "a permission of new keys, such as documents.read or documents.*; repeatable",
      collect,
    )
    .option(
      "--default-limit <limit>",
      "a rate limit of new keys, such as requests=100/60s, or exports=5/1h,named for one that applies only to verifications that name it; repeatable",
      collect,
    )
    .option("--default-credits <number>", "the balance of new keys")
    .option(
      "--default-refill <refill>",
      "how the balance of new keys is refilled at midnight UTC, such as 5000/daily, or 5000/monthly-1 for the first day of each month",
    )
    .action(createAction(async () => (await import("./create-keyspace.ts")).createKeyspaceTask));
  keyspace
    .command("list")
    .description("list the keyspaces of a workspace, oldest first")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./list-keyspaces.ts")).listKeyspacesTask));
}

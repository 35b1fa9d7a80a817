import type { Command } from "commander";
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
    .action(createAction(async () => (await import("./create-keyspace.ts")).createKeyspaceTask));
  keyspace
    .command("list")
    .description("list the keyspaces of a workspace, oldest first")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./list-keyspaces.ts")).listKeyspacesTask));
}

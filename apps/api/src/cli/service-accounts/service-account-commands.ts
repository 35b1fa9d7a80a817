import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

const roleOption = ["--role <role>", "the role: admin, member, viewer"] as const;

export function addServiceAccountCommands(program: Command, createAction: CreateAction): void {
  const account = program
    .command("service-account")
    .description("accounts for integrations, such as a deploy pipeline");
  account
    .command("create")
    .description("add a service account to a workspace; `key create --user <id>` creates its API keys")
    .requiredOption("--workspace <id>", "the ID of the workspace")
    .requiredOption("--name <name>", "the name of the service account")
    .requiredOption(...roleOption)
    .action(createAction(async () => (await import("./create-service-account.ts")).createServiceAccountTask));
  account
    .command("list")
    .description("list the service accounts of a workspace, oldest first")
    .requiredOption("--workspace <id>", "the ID of the workspace")
    .action(createAction(async () => (await import("./list-service-accounts.ts")).listServiceAccountsTask));
  account
    .command("edit <id>")
    .description("change a service account; applies to the next request with its API keys")
    .option("--name <name>", "the new name")
    .option(...roleOption)
    .action(createAction(async () => (await import("./edit-service-account.ts")).editServiceAccountTask));
  account
    .command("disable <id>")
    .description("reject all API keys of a service account until it is enabled again")
    .action(createAction(async () => (await import("./edit-service-account.ts")).disableServiceAccountTask));
  account
    .command("enable <id>")
    .description("enable a disabled service account")
    .action(createAction(async () => (await import("./edit-service-account.ts")).enableServiceAccountTask));
  account
    .command("delete <id>")
    .description("delete a service account with its API keys; this can't be undone")
    .action(createAction(async () => (await import("./delete-service-account.ts")).deleteServiceAccountTask));
}

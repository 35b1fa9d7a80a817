import type { Command } from "commander";
import type { CreateAction } from "../create-action.ts";

const workspaceOption = ["--workspace <id>", "the ID of the workspace"] as const;

export function addWebhookCommands(program: Command, createAction: CreateAction): void {
  const webhook = program.command("webhook").description("webhooks of workspaces");
  webhook
    .command("list")
    .description("list the webhooks of a workspace, oldest first")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./list-webhooks.ts")).listWebhooksTask));
  webhook
    .command("disable <id>")
    .description("send no more messages to a webhook")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./set-webhook-disabled.ts")).disableWebhookTask));
  webhook
    .command("enable <id>")
    .description("send messages to a webhook again")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./set-webhook-disabled.ts")).enableWebhookTask));
  webhook
    .command("delete <id>")
    .description("delete a webhook and the log of its deliveries")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./delete-webhook.ts")).deleteWebhookTask));
}

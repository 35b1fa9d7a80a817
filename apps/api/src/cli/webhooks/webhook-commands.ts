import { type Command, Option } from "commander";
import { collect } from "../collect.ts";
import type { CreateAction } from "../create-action.ts";

const workspaceOption = ["--workspace <id>", "the ID of the workspace"] as const;

const eventsText = "an event that is sent, such as member.removed; repeatable";

export function addWebhookCommands(program: Command, createAction: CreateAction): void {
  const webhook = program.command("webhook").description("webhooks of workspaces");
  webhook
    .command("create")
    .description(
      "send the audit events of a workspace to a server; the secret is printed once and can't be shown again",
    )
    .requiredOption(...workspaceOption)
    .requiredOption("--url <url>", "where messages are sent with POST, such as https://example.com/webhooks")
    .option("--description <text>", "what the webhook is for", "")
    .option("--action <action>", `${eventsText} (default: all events)`, collect)
    .action(createAction(async () => (await import("./create-webhook.ts")).createWebhookTask));
  webhook
    .command("list")
    .description("list the webhooks of a workspace, oldest first")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./list-webhooks.ts")).listWebhooksTask));
  webhook
    .command("edit <id>")
    .description("change a webhook; settings without an option stay the same")
    .requiredOption(...workspaceOption)
    .option("--url <url>", "the new URL")
    .option("--description <text>", 'the new description; "" removes it')
    .option("--action <action>", eventsText, collect)
    .addOption(new Option("--all-actions", "send all events, including future ones").conflicts("action"))
    .action(createAction(async () => (await import("./edit-webhook.ts")).editWebhookTask));
  webhook
    .command("rotate <id>")
    .description("replace the secret of a webhook; the new secret is printed once and can't be shown again")
    .requiredOption(...workspaceOption)
    .option(
      "--overlap <duration>",
      "how long messages are also signed with the old secret, from 0s to 30d, such as 90m or 12h",
      "24h",
    )
    .action(createAction(async () => (await import("./rotate-webhook.ts")).rotateWebhookTask));
  webhook
    .command("test <id>")
    .description("send a test message to a webhook; `webhook deliveries` shows its result")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./send-webhook.ts")).testWebhookTask));
  webhook
    .command("deliveries <id>")
    .description("list the deliveries to a webhook of the last 30 days, newest first")
    .requiredOption(...workspaceOption)
    .option("--status <status>", "only deliveries with this status: pending, succeeded, failed")
    .action(createAction(async () => (await import("./list-deliveries.ts")).listDeliveriesTask));
  webhook
    .command("redeliver <id>")
    .description("send a message to a webhook again, whatever its result was")
    .requiredOption(...workspaceOption)
    .requiredOption("--delivery <id>", "the ID of the delivery")
    .action(createAction(async () => (await import("./send-webhook.ts")).redeliverTask));
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

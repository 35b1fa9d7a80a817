import { permissions } from "@latchkey/auth/permissions";
import { type Command, Option } from "commander";
import { collect } from "../collect.ts";
import type { CreateAction } from "../create-action.ts";

const workspaceOption = ["--workspace <id>", "the ID of the workspace"] as const;

export function addKeyCommands(program: Command, createAction: CreateAction): void {
  const key = program.command("key").description("API keys");
  const create = key
    .command("create")
    .description(
      "create an API key for a user or a service account; the key is printed once and can't be shown again",
    )
    .requiredOption(
      "--user <user>",
      "the owner of the key: an email address, or the ID of a user or service account",
    )
    .requiredOption("--name <name>", "the name of the key")
    .option("--description <text>", "what the key is used for", "");
  addRestrictions(create, "(default: unrestricted)");
  create.action(createAction(async () => (await import("./create-key.ts")).createKeyTask));
  key
    .command("list")
    .description("list the API keys of the instance or of one user, oldest first")
    .option("--user <user>", "the owner of the keys: an email address or a user ID (default: every user)")
    .action(createAction(async () => (await import("./list-keys.ts")).listKeysTask));
  key
    .command("show <id>")
    .description("show an API key and its restrictions")
    .action(createAction(async () => (await import("./show-key.ts")).showKeyTask));
  addEdit(key, createAction);
  key
    .command("rotate <id>")
    .description("replace the secret of an API key; the new key is printed once and can't be shown again")
    .option(
      "--overlap <duration>",
      "how long the old secret stays valid, from 0s to 30d, such as 90m or 12h",
      "24h",
    )
    .action(createAction(async () => (await import("./rotate-key.ts")).rotateKeyTask));
  key
    .command("revoke-old-secrets <id>")
    .description(
      "revoke all old secrets of an API key before their overlap ends; the current one stays valid",
    )
    .action(createAction(async () => (await import("./revoke-old-secrets.ts")).revokeOldSecretsTask));
  key
    .command("disable <id>")
    .description("disable an API key: reject its requests until it is enabled again")
    .action(createAction(async () => (await import("./set-key-disabled.ts")).disableKeyTask));
  key
    .command("enable <id>")
    .description("enable a disabled API key")
    .action(createAction(async () => (await import("./set-key-disabled.ts")).enableKeyTask));
  key
    .command("block <id>")
    .description(
      "block an API key from a workspace until it is unblocked; it keeps its access to other workspaces",
    )
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./block-key.ts")).blockKeyTask));
  key
    .command("unblock <id>")
    .description("let a blocked or idle API key use a workspace again; its idle time starts over")
    .requiredOption(...workspaceOption)
    .action(createAction(async () => (await import("./block-key.ts")).unblockKeyTask));
  key
    .command("delete <id>")
    .description("delete an API key; this can't be undone")
    .action(createAction(async () => (await import("./delete-key.ts")).deleteKeyTask));
}

function addEdit(key: Command, createAction: CreateAction): void {
  const edit = key
    .command("edit <id>")
    .description("change an API key; settings without an option stay the same")
    .option("--name <name>", "the new name")
    .option("--description <text>", 'the new description; "" removes it');
  addRestrictions(edit, "");
  edit
    .option("--no-expiry", "the key never expires")
    .option("--no-limit", "remove the rate limit")
    .addOption(new Option("--all-workspaces", "allow all workspaces of the owner").conflicts("workspace"))
    .addOption(new Option("--all-permissions", "allow all permissions of the owner").conflicts("permission"))
    .option("--no-read-only", "allow permissions that change data")
    .addOption(new Option("--any-ip", "allow any IP address").conflicts("ip"))
    .option("--expand-access", "allow a change that lets the key do more than before")
    .action(createAction(async () => (await import("./edit-key.ts")).editKeyTask));
}

/** The options that restrict a key, which `key create` and `key edit` share. */
function addRestrictions(command: Command, fallback: string): void {
  const describe = (text: string): string => `${text} ${fallback}`.trimEnd();
  command
    .addOption(
      new Option(
        "--expires-in <duration>",
        describe("how long the key is valid, such as 90s, 1h or 30d"),
      ).conflicts(["expiresAt", "expiry"]),
    )
    .addOption(
      new Option(
        "--expires-at <time>",
        describe("when the key expires, such as 2027-03-01T09:30:00Z"),
      ).conflicts(["expiresIn", "expiry"]),
    )
    .option("--limit <requests>/<window>", describe("the rate limit, such as 100/60s"))
    .option("--workspace <id>", describe("a workspace that the key can access; repeatable"), collect)
    .option(
      "--permission <permission>",
      `${describe("a permission of the key; repeatable")}: ${permissions.join(", ")}`,
      collect,
    )
    .option("--read-only", describe("allow only permissions that read"))
    .option(
      "--ip <range>",
      describe("an IP address or range that requests may come from; repeatable"),
      collect,
    );
}

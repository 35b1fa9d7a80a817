import { type Command, Option } from "commander";
import { collect } from "../collect.ts";
import type { CreateAction } from "../create-action.ts";

export function addIssuedKeyCommands(program: Command, createAction: CreateAction): void {
  const issuedKey = program
    .command("issued-key")
    .description("keys that workspaces issue to their consumers");
  issuedKey
    .command("create")
    .description(
      "issue a key in a keyspace; the key is printed once and can't be shown again. Settings without an option are the defaults of the keyspace",
    )
    .requiredOption("--keyspace <id>", "the ID of the keyspace")
    .option("--name <name>", "the name of the key", "")
    .option("--external-id <id>", "the consumer that the key belongs to, such as customer_42")
    .addOption(
      new Option("--expires-in <duration>", "how long the key is valid, such as 90s, 1h or 30d").conflicts(
        "expiresAt",
      ),
    )
    .option("--expires-at <time>", "when the key expires, such as 2027-03-01T09:30:00Z")
    .option(
      "--permission <permission>",
      "a permission in your API, such as documents.read or documents.*; repeatable",
      collect,
    )
    .option("--ip <range>", "an IP address or range that the key may be used from; repeatable", collect)
    .option(
      "--limit <limit>",
      "a rate limit, such as requests=100/60s, or exports=5/1h,named for one that applies only to verifications that name it; repeatable",
      collect,
    )
    .option("--credits <number>", "the balance of credits")
    .option(
      "--refill <refill>",
      "how the balance is refilled at midnight UTC, such as 5000/daily, or 5000/monthly-1 for the first day of each month",
    )
    .option("--meta <json>", 'data that each verification returns, such as {"plan":"pro"}')
    .action(createAction(async () => (await import("./create-issued-key.ts")).createIssuedKeyTask));
  withChoice(
    issuedKey
      .command("rotate [ids...]")
      .description(
        "replace the secrets of issued keys; the new keys are printed once and can't be shown again",
      ),
  )
    .option(
      "--overlap <duration>",
      "how long the old secrets stay valid, from 0s to 30d, such as 90m or 12h",
      "24h",
    )
    .action(createAction(async () => (await import("./rotate-issued-keys.ts")).rotateIssuedKeysTask));
  issuedKey
    .command("revoke-old-secrets <id>")
    .description(
      "revoke all old secrets of an issued key before their overlap ends; the current one stays valid",
    )
    .action(createAction(async () => (await import("./revoke-old-secrets.ts")).revokeOldSecretsTask));
  withChoice(
    issuedKey
      .command("disable [ids...]")
      .description("disable issued keys: they are not valid until they are enabled again"),
  ).action(createAction(async () => (await import("./change-issued-keys.ts")).disableIssuedKeysTask));
  withChoice(issuedKey.command("enable [ids...]").description("enable disabled issued keys")).action(
    createAction(async () => (await import("./change-issued-keys.ts")).enableIssuedKeysTask),
  );
  withChoice(
    issuedKey.command("delete [ids...]").description("delete issued keys; this can't be undone"),
  ).action(createAction(async () => (await import("./change-issued-keys.ts")).deleteIssuedKeysTask));
  program
    .command("verify")
    .description("verify an issued key or an API key in a workspace, as the workspace's own services do")
    .requiredOption("--key-stdin", "read the key from standard input")
    .requiredOption("--workspace <id>", "the ID of the workspace")
    .option("--keyspace <id>", "the ID of the keyspace that the key must belong to (default: any)")
    .option(
      "--permissions <query>",
      "the permissions that the key must have, such as 'documents.read AND (documents.write OR admin)'",
    )
    .option("--client-ip <address>", "the IP address of the consumer")
    .option(
      "--limit <name[=cost]>",
      "a limit to spend from, such as exports, or exports=5 for a cost other than --cost; repeatable",
      collect,
    )
    .option("--cost <number>", "what is spent from credits, and from limits without a cost of their own", "0")
    .action(createAction(async () => (await import("./verify-key.ts")).verifyKeyTask));
  program
    .command("import")
    .description("import what other systems issued")
    .command("keys <file>")
    .description(
      "import keys by their SHA-256 into a keyspace from an NDJSON or CSV file; keys that are already in the keyspace don't change, so you can repeat an interrupted import",
    )
    .requiredOption("--keyspace <id>", "the ID of the keyspace")
    .option("--format <format>", "csv or ndjson (default: by the extension of the file)")
    .action(createAction(async () => (await import("./import-keys.ts")).importKeysTask));
}

/** Adds the options that choose all keys of a consumer, instead of keys by their IDs. */
function withChoice(command: Command): Command {
  return command
    .option("--external-id <id>", "all keys of this consumer, such as customer_42, instead of IDs")
    .option("--keyspace <id>", "the ID of the keyspace of the consumer; required with --external-id");
}

import { Command, Help } from "commander";
import { version } from "../version.ts";
import { addAuditCommands } from "./audit/audit-commands.ts";
import type { CommandIo } from "./command-io.ts";
import { readCommandLine } from "./command-line.ts";
import { rejectContradictions } from "./contradictions.ts";
import type { CreateAction } from "./create-action.ts";
import { addHelpCommands } from "./help-command.ts";
import { addInstanceCommands } from "./instance/instance-commands.ts";
import { addInvitationCommands } from "./invitations/invitation-commands.ts";
import { addIssuedKeyCommands } from "./issued-keys/issued-key-commands.ts";
import { addKeyCommands } from "./keys/key-commands.ts";
import { addKeyspaceCommands } from "./keyspaces/keyspace-commands.ts";
import { addMemberCommands } from "./members/member-commands.ts";
import { addOperatorCommands } from "./operators/operator-commands.ts";
import { addServiceAccountCommands } from "./service-accounts/service-account-commands.ts";
import { addUserCommands } from "./users/user-commands.ts";
import { addWebhookCommands } from "./webhooks/webhook-commands.ts";
import { addWorkspaceCommands } from "./workspaces/workspace-commands.ts";

/**
 * The `latchkey` command for the operator of an instance. It works on the same database as the server, and can be used
 * while a server runs. A command's code is loaded only when the command runs: `--help`, `--version` and usage errors
 * load neither the database driver nor the validation library.
 */
export function createProgram(io: CommandIo): Command {
  const program = new Command("latchkey")
    .description(
      "Operate a Latchkey instance: its schema, backups, users, API keys, workspaces, keyspaces, members, service accounts, invitations, webhooks and audit logs.",
    )
    .version(version, "-V, --version", "print the version")
    .option("--json", "print the result as JSON")
    .helpOption("-h, --help", "print help for a command")
    .configureHelp({
      showGlobalOptions: true,
      optionDescription: (option) =>
        (option.mandatory ? "required; " : "") + new Help().optionDescription(option),
    })
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: () => undefined });
  const createAction: CreateAction =
    (load) =>
    async (...args) => {
      const command = args.at(-1) as Command; // Commander passes the command last.
      await (await load())(readCommandLine(command), io);
    };

  program
    .command("migrate")
    .description("create the embedded database if there is none, and bring its schema up to date")
    .option("--repair", "restore the policies, grants and triggers that isolate tenants")
    .action(createAction(async () => (await import("./migrate.ts")).migrateTask));
  program
    .command("backup <file>")
    .description("write a backup of the instance to a new file; a server may be running")
    .action(createAction(async () => (await import("./backups/backup.ts")).backupTask));
  program
    .command("restore <file>")
    .description("restore a backup into an empty database; create the embedded database if there is none")
    .action(createAction(async () => (await import("./backups/restore.ts")).restoreTask));
  program
    .command("demo")
    .description(
      "fill an empty instance with two workspaces to try the product with; create the embedded database if there is none",
    )
    .action(createAction(async () => (await import("./demo/fill-demo.ts")).demoTask));
  addUserCommands(program, createAction);
  addKeyCommands(program, createAction);
  addWorkspaceCommands(program, createAction);
  addKeyspaceCommands(program, createAction);
  addIssuedKeyCommands(program, createAction);
  addMemberCommands(program, createAction);
  addServiceAccountCommands(program, createAction);
  addInvitationCommands(program, createAction);
  addWebhookCommands(program, createAction);
  addAuditCommands(program, createAction);
  addOperatorCommands(program, createAction);
  addInstanceCommands(program, createAction);
  addHelpCommands(program);
  rejectContradictions(program);
  return program;
}

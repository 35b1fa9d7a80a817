import { Command } from "commander";
import type { Env } from "../env.ts";
import { addKeyCommands } from "./key-commands.ts";
import { addMemberCommands } from "./member-commands.ts";
import { createPerformer } from "./performer.ts";
import { addUserCommands } from "./user-commands.ts";
import { addWorkspaceCommands } from "./workspace-commands.ts";

/**
 * The `latchkey` command, for whoever operates the instance: it works on the same database as the server, beside
 * a running one too.
 */
export function createProgram(readEnv: () => Env): Command {
  const program = new Command("latchkey")
    .description("Operate a Latchkey instance: its schema, its users, their keys, their workspaces.")
    .option("--json", "print the result as JSON")
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  const perform = createPerformer(program, readEnv);

  program
    .command("migrate")
    .description("bring the database's schema up to date")
    .action(() => perform(async (_db, { applied }) => ({ applied })));
  addUserCommands(program, perform);
  addKeyCommands(program, perform);
  addWorkspaceCommands(program, perform);
  addMemberCommands(program, perform);
  return program;
}

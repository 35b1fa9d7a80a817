import type { Command } from "commander";
import { UsageError } from "./usage-error.ts";

/**
 * Adds `help [command...]` to the program and to each of its groups. Commander's own `help` reads one name, and prints
 * the help of the program, without an error message, if no command has it.
 */
export function addHelpCommands(group: Command): void {
  for (const command of group.commands) if (command.commands.length > 0) addHelpCommands(command);
  group
    .command("help [command...]")
    .description("print help for a command")
    .action(async (names: readonly string[]) => {
      (await findCommand(group, names)).outputHelp();
    });
}

/** @throws {CommanderError | UsageError} for a name that no command has. */
async function findCommand(group: Command, [name, ...names]: readonly string[]): Promise<Command> {
  if (name === undefined) return group;
  const command = group.commands.find((known) => known.name() === name || known.aliases().includes(name));
  if (command) return await findCommand(command, names);
  // Commander explains unknown commands of a group, with similar names. A command without subcommands would run.
  if (group.commands.length > 0) await group.parseAsync([name], { from: "user" });
  throw new UsageError(`Unknown command '${name}'.`);
}

import type { Command } from "commander";

/** The command line, as parsed by Commander. */
export interface CommandLine {
  /** Arguments and options by name, such as `id` and `expiresIn`. */
  readonly values: Readonly<Record<string, unknown>>;
  /** How an error names a value: `<id>`, `--expires-in`; undefined for a value that isn't on the command line. */
  readonly labelOf: (name: string) => string | undefined;
  /** Whether to print JSON. */
  readonly isJson: boolean;
}

export function readCommandLine(command: Command): CommandLine {
  const args = command.registeredArguments.map((argument, index) => [
    argument.name(),
    command.processedArgs[index],
  ]);
  return {
    values: { ...command.opts(), ...Object.fromEntries(args) },
    labelOf: (name) => labelOf(command, name),
    isJson: command.optsWithGlobals().json === true,
  };
}

function labelOf(command: Command, name: string): string | undefined {
  const options = command.options.filter((option) => option.attributeName() === name);
  const option = options.find(({ negate }) => !negate) ?? options[0];
  if (option) return option.long;
  return command.registeredArguments.some((argument) => argument.name() === name) ? `<${name}>` : undefined;
}

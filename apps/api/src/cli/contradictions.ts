import type { Command, Option } from "commander";
import { UsageError } from "./usage-error.ts";

/**
 * Makes the program and its commands reject an option together with its negation, such as `--limit` and `--no-limit`.
 * Both set the same value, so Commander uses the last one, and its `conflicts` can't name them.
 */
export function rejectContradictions(command: Command): void {
  for (const child of command.commands) rejectContradictions(child);
  for (const negation of command.options.filter(({ negate }) => negate)) {
    const option = command.options.find((other) => !other.negate && hasSameValue(other, negation));
    if (option) rejectContradiction(command, option, negation);
  }
}

function hasSameValue(one: Option, other: Option): boolean {
  return one.attributeName() === other.attributeName();
}

function rejectContradiction(command: Command, option: Option, negation: Option): void {
  const given = new Set<Option>();
  for (const each of [option, negation]) {
    command.on(`option:${each.name()}`, () => {
      given.add(each);
      if (given.size > 1)
        throw new UsageError(`Option '${option.flags}' cannot be used with option '${negation.flags}'.`);
    });
  }
}

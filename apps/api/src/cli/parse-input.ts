import { redactKeys } from "@latchkey/auth/redact-keys";
import type { z } from "zod";
import type { CommandLine } from "./command-line.ts";
import { UsageError } from "./usage-error.ts";

/** A value from standard input. Errors name the option that requested it, and never quote the value. */
export interface Secret {
  /** The member of the input that receives the value. */
  readonly name: string;
  readonly option: string;
  readonly value: string;
}

/**
 * Parses the arguments and options of a command.
 * @throws {UsageError} for each flag with an invalid value, with the value and what is allowed.
 */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  line: Pick<CommandLine, "values" | "labelOf">,
  secret?: Secret,
): z.output<Schema> {
  const input = secret ? { ...line.values, [secret.name]: secret.value } : line.values;
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const describe = (issue: z.core.$ZodIssue): string =>
    issue.path[0] === secret?.name && secret
      ? `${secret.option}: ${issue.message}`
      : describeIssue(issue, line);
  throw new UsageError(error.issues.map(describe).join(" "));
}

function describeIssue(
  { path, message }: z.core.$ZodIssue,
  { values, labelOf }: Pick<CommandLine, "values" | "labelOf">,
): string {
  const [name] = path;
  if (name === undefined) return message;
  const label = labelOf(String(name)) ?? path.join(".");
  const value = path.reduce<unknown>(descend, values);
  return value === undefined ? `${label}: ${message}` : `${label}: ${quote(value)} is not valid. ${message}`;
}

/** Follows one step of an issue's path, which can lead into the parsed value; stops at the typed text. */
function descend(value: unknown, step: PropertyKey): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, step) : value;
}

const maxQuotedLength = 60;

/**
 * A value as JSON, so that it can't control the terminal, shortened. An API key, even an incomplete one, is cut to its first
 * characters, and an issued key to its prefix. What follows the 36 characters of an API key's secret part stays, because it can be the
 * prefix of an issued key, which is recognized only with its prefix.
 */
function quote(value: unknown): string {
  const text = redactKeys(String(value).replace(/\b(lk_[0-9A-Za-z]{6})[0-9A-Za-z]{1,30}/g, "$1…"));
  return JSON.stringify(text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text);
}

import { type AppError, type Issue, type IssueCode, issueCatalog } from "@latchkey/errors";
import type { z } from "zod";

/**
 * The issues of a value that a schema rejected, as clients see them. An object with two unknown fields has two issues,
 * each with its own path.
 * @param input the value as it was given to the schema. zod's issues don't distinguish a missing field from a wrong
 *   one.
 */
export function toIssues({ issues }: z.core.$ZodError, input: unknown): Issue[] {
  return issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== "unrecognized_keys") {
      return [{ path: path.join("."), code: codeOf(issue, input), message: issue.message }];
    }
    return issue.keys.map((key) => ({
      path: [...path, key].join("."),
      code: "unknown_member" as const,
      message: "Unknown field",
    }));
  });
}

/** The fields of an error response that list its issues. */
export function describeIssues({ issues, omittedIssues }: AppError): object {
  if (!issues) return {};
  return omittedIssues > 0 ? { issues, omittedIssues } : { issues };
}

/** Creates the message and the code of a check that zod doesn't have, for `refine` and `addIssue`. */
export function customIssue(
  code: IssueCode,
  message: string,
): { readonly message: string; readonly params: { readonly code: IssueCode } } {
  return { message, params: { code } };
}

function codeOf(issue: z.core.$ZodIssue, input: unknown): IssueCode {
  if (issue.code === "custom") return isIssueCode(issue.params?.code) ? issue.params.code : "invalid_value";
  if (isMissing(input, issue.path)) return "required";
  switch (issue.code) {
    case "invalid_type":
    case "invalid_format":
      return issue.code;
    case "too_small":
      return boundCodes[issue.origin]?.below ?? "too_small";
    case "too_big":
      return boundCodes[issue.origin]?.above ?? "too_large";
    default:
      return "invalid_value";
  }
}

/** The codes for values that aren't numbers and are too small or too large. */
const boundCodes: Readonly<Record<string, { readonly below: IssueCode; readonly above: IssueCode }>> = {
  string: { below: "too_short", above: "too_long" },
  array: { below: "too_few", above: "too_many" },
};

/**
 * The message of an issue whose schema has none; undefined to use zod's message. zod's messages are written for
 * developers: "expected string, received undefined". Pass it as `error` when you parse.
 */
export function describeInput(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_value")
    return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
  if (issue.code === "too_small") return describeBound("at least", issue.minimum, issue.origin);
  if (issue.code === "too_big") return describeBound("at most", issue.maximum, issue.origin);
  if (issue.code !== "invalid_type") return undefined;
  if (issue.input === undefined) return "is required";
  return `must be ${nouns[issue.expected] ?? `of type ${issue.expected}`}`;
}

/** The message for a value below or above a bound, which is a valid value. */
function describeBound(relation: "at least" | "at most", bound: number | bigint, origin: string): string {
  const counted = countedNouns[origin];
  if (!counted) return `must be ${relation} ${bound}`;
  return `must have ${relation} ${bound} ${Number(bound) === 1 ? counted.one : counted.many}`;
}

/** What the length of a value counts. */
const countedNouns: Readonly<Record<string, { readonly one: string; readonly many: string }>> = {
  string: { one: "character", many: "characters" },
  array: { one: "item", many: "items" },
};

const nouns: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

function isIssueCode(code: unknown): code is IssueCode {
  return typeof code === "string" && Object.hasOwn(issueCatalog, code);
}

function isMissing(input: unknown, path: readonly PropertyKey[]): boolean {
  let value = input;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return false;
    value = (value as Record<PropertyKey, unknown>)[key]; // Any object can be read like this.
  }
  return value === undefined;
}

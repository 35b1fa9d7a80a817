import { maxPasswordLength, minPasswordLength } from "@latchkey/auth/password";
import { roles } from "@latchkey/auth/permissions";
import { decodeId } from "@latchkey/db/ids";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { rejectedAs } from "./issues.ts";

const hiddenCharacters = rejectedAs("invalid_characters", "Remove the invisible characters.");

// Postgres cannot store U+0000, lone surrogates are no text, and control characters have no place in one line. Those
// that turn the direction of writing would turn what stands beside a name too. Joiners stay: emoji need them.
const printable = z
  .string()
  .refine(
    (text) => text.isWellFormed() && !/[\p{Control}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u.test(text),
    hiddenCharacters,
  );
const printableLines = z
  .string()
  .refine((text) => text.isWellFormed() && !/[^\P{Control}\n\r\t]/u.test(text), hiddenCharacters);

// Nothing to be seen: fillers and joiners by themselves, and the empty Braille cell.
const isBlank = (text: string): boolean => /^[\p{Default_Ignorable_Code_Point}\s\u2800]+$/u.test(text);
/** What a JSON schema can say of it; the checks above are stricter. */
const withoutControls = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";
const atMost = (length: number) => [length, `Use at most ${length} characters.`] as const;
const name = (whenEmpty: string, length: number) =>
  printable
    .trim()
    .min(1, whenEmpty)
    .refine((text) => !isBlank(text), rejectedAs("too_short", whenEmpty))
    .max(...atMost(length))
    .meta({ pattern: withoutControls });

/** An email address, in lower case. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(...atMost(maxLength.email))
  .pipe(z.email("Enter an email address, such as ada@example.com."));

/** A person's name. */
export const personName = name("Enter your name.", maxLength.personName);

/** A password to be set: its length is all that is asked of it. */
export const newPassword = z
  .string()
  .refine((text) => text.isWellFormed(), hiddenCharacters)
  .min(minPasswordLength, `Use at least ${minPasswordLength} characters.`)
  .max(maxPasswordLength, `Use at most ${maxPasswordLength} characters.`);

/** The name of a workspace. */
export const workspaceName = name("Enter a name.", maxLength.workspaceName);

/** The name of a key. */
export const keyName = name("Enter a name.", maxLength.keyName);

/** A text that may be empty and have several lines, of at most `length` UTF-16 code units. */
export const multilineText = (length: number) =>
  printableLines
    .trim()
    .max(...atMost(length))
    .meta({ pattern: "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$" });

/** What a key is for, in lines. */
export const keyDescription = multilineText(maxLength.keyDescription);

/** The text to search a list for. */
export const searchText = printable
  .trim()
  .max(...atMost(maxLength.search))
  .meta({ pattern: withoutControls });

const timeHelp = "Enter a time in ISO 8601, in UTC, such as 2027-03-01T09:30:00Z.";

/**
 * A time in ISO 8601, in UTC, with seconds. Postgres has no year 0. A string in another format aborts: the checks of the
 * object that it is in would otherwise run on the string, where they expect a `Date`.
 */
export const instant = z.iso
  .datetime({ error: timeHelp, abort: true })
  .max(30, { error: timeHelp, abort: true })
  .refine((text) => !text.startsWith("0000-"), { ...rejectedAs("invalid_format", timeHelp), abort: true })
  .meta({ pattern: "^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$" })
  .transform((text) => new Date(text));

/** The id of an API key. */
export const keyId = idOf("key", "Not the id of an API key.");

/** The id of a workspace. */
export const workspaceId = idOf("workspace", "Not the id of a workspace.");

/** The id of a user. */
export const userId = idOf("user", "Not the id of a user.");

/** A role in a workspace, from most to least powerful. */
export const role = z.enum(roles);

function idOf<Kind extends "key" | "workspace" | "user">(kind: Kind, message: string) {
  return z.string().transform((text, context) => {
    const id = decodeId(kind, text);
    if (id) return id;
    context.addIssue({ code: "custom", ...rejectedAs("invalid_format", message) });
    return z.NEVER;
  });
}

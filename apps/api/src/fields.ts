import { roles } from "@latchkey/auth/permissions";
import { redactKeys } from "@latchkey/auth/redact-keys";
import { decodeId } from "@latchkey/db/ids";
import { userKinds } from "@latchkey/db/user-kind";
import { maxLength, passwordLength } from "@latchkey/limits";
import { z } from "zod";
import { customIssue } from "./issues.ts";

const hiddenCharacters = customIssue("invalid_characters", "Remove the invisible characters.");

// Postgres can't store U+0000, lone surrogates aren't valid Unicode, and a single line has no control characters.
// Characters that change the writing direction would also affect the text next to a name. Joiners are allowed,
// because emoji need them.
export const printable = z
  .string()
  .refine(
    (text) => text.isWellFormed() && !/[\p{Control}\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/u.test(text),
    hiddenCharacters,
  );
const printableLines = z
  .string()
  .refine((text) => text.isWellFormed() && !/[^\P{Control}\n\r\t]/u.test(text), hiddenCharacters);

// Whether a text has no visible character: only fillers, joiners, spaces and empty Braille cells.
const isBlank = (text: string): boolean => /^[\p{Default_Ignorable_Code_Point}\s\u2800]+$/u.test(text);
// Names and descriptions are copied to logs that can't be edited, and other members read them.
export const hasNoKey = (text: string): boolean => redactKeys(text) === text;
export const containsKey = customIssue("invalid_value", "Remove the key. Other people can read this text.");

/** The part of the checks that a JSON Schema can express; the checks above are stricter. */
export const noControlsPattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";
const maxLengthOf = (length: number) => [length, `Use at most ${length} characters.`] as const;
const name = (whenEmpty: string, length: number) =>
  printable
    .trim()
    .min(1, whenEmpty)
    .refine((text) => !isBlank(text), customIssue("too_short", whenEmpty))
    .refine(hasNoKey, containsKey)
    .max(...maxLengthOf(length))
    .meta({ pattern: noControlsPattern });

const emailHelp = "Enter an email address, such as ada@example.com.";

/**
 * An email address, in lower case. API keys are detected before the text is converted to lower case, because the
 * original letter case could be reconstructed from the checksum of a key.
 */
export const email = z
  .string()
  .trim()
  .refine(hasNoKey, containsKey)
  .refine(isAscii, customIssue("invalid_format", emailHelp))
  .toLowerCase()
  .max(...maxLengthOf(maxLength.email))
  .pipe(z.email(emailHelp));

/**
 * Lowercasing turns some non-ASCII letters, such as the Kelvin sign, into ASCII letters. The result could be another person's address.
 */
function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}

/** A person's name. */
export const personName = name("Enter your name.", maxLength.personName);

/** A code of a second factor: of an authenticator app, or a recovery code. */
export const factorCode = z
  .string()
  .trim()
  .min(1, "Enter a code.")
  .max(...maxLengthOf(32));

/** A new password. Only its length is restricted here. */
export const newPassword = z
  .string()
  .refine((text) => text.isWellFormed(), hiddenCharacters)
  .min(passwordLength.min, `Use at least ${passwordLength.min} characters.`)
  .max(passwordLength.max, `Use at most ${passwordLength.max} characters.`);

/** The name of a workspace. */
export const workspaceName = name("Enter a name.", maxLength.workspaceName);

/** The name of a keyspace. */
export const keyspaceName = name("Enter a name.", maxLength.keyspaceName);

/** A label in one line, which may be empty. */
export const label = (length: number) =>
  printable
    .trim()
    .refine(hasNoKey, containsKey)
    .max(...maxLengthOf(length))
    .meta({ pattern: noControlsPattern });

/** A field of an edit that may be left out, to keep its value, or null, to clear it: it then gets its empty value. */
export function clearable<Schema extends z.ZodType>(schema: Schema, empty: z.output<Schema>) {
  return schema
    .nullable()
    .transform((value): z.output<Schema> => value ?? empty)
    .exactOptional();
}

/** An object in an edit, with at least one of its fields. */
export function editOf<Shape extends z.ZodRawShape>(shape: Shape, whenEmpty: string) {
  return z
    .strictObject(shape)
    .refine((fields) => Object.keys(fields).length > 0, {
      ...customIssue("no_changes", whenEmpty),
      // An object with only invalid fields has issues already.
      when: ({ issues }) => issues.length === 0,
    })
    .meta({
      override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
        jsonSchema.minProperties = 1;
      },
    });
}

/** The name of a passkey. */
export const passkeyName = name("Enter a name.", maxLength.passkeyName);

/** The name of a key. */
export const keyName = name("Enter a name.", maxLength.keyName);

/** A text that may be empty and have several lines, of at most `length` characters. */
export const multilineText = (length: number) =>
  printableLines
    .trim()
    .refine(hasNoKey, containsKey)
    .max(...maxLengthOf(length))
    .meta({ pattern: "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$" });

/** The description of a key, in one or more lines. */
export const keyDescription = multilineText(maxLength.keyDescription);

/** The text to search a list for. */
export const searchText = printable
  .trim()
  .max(...maxLengthOf(maxLength.search))
  .meta({ pattern: noControlsPattern });

const timeHelp = "Enter a time in ISO 8601, in UTC, such as 2027-03-01T09:30:00Z.";

/**
 * A time in ISO 8601, in UTC, with seconds. Postgres has no year 0. A string in another format aborts the validation:
 * otherwise the checks of the enclosing object, which expect a `Date`, would run on the string.
 */
export const instant = z.iso
  .datetime({ error: timeHelp, abort: true })
  .max(30, { error: timeHelp, abort: true })
  .refine((text) => !text.startsWith("0000-"), { ...customIssue("invalid_format", timeHelp), abort: true })
  .meta({ pattern: "^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$" })
  .transform((text) => new Date(text));

/** The ID of an API key. */
export const keyId = idOf("key", "must be the ID of an API key");

/** The ID of a workspace. */
export const workspaceId = idOf("workspace", "must be the ID of a workspace");

/** The ID of a passkey. */
export const passkeyId = idOf("passkey", "must be the ID of a passkey");

/** The ID of a session. */
export const sessionId = idOf("session", "must be the ID of a session");

/** The ID of an invitation. */
export const invitationId = idOf("invitation", "must be the ID of an invitation");

/** The ID of a webhook. */
export const webhookId = idOf("webhook", "must be the ID of a webhook");

/** The ID of a delivery to a webhook. */
export const deliveryId = idOf("delivery", "must be the ID of a delivery");

/** The ID of a keyspace. */
export const keyspaceId = idOf("keyspace", "must be the ID of a keyspace");

/** The ID of an issued key. */
export const issuedKeyId = idOf("issuedKey", "must be the ID of an issued key");

/** The most rows of a page in the web app. */
const maxPageIds = 100;
/** Longer than any ID. */
const maxIdLength = 40;

/**
 * The IDs of the issued keys of a page, separated by commas. In a query string, an array of as many would exceed the maximum
 * length.
 */
export const issuedKeyIds = z
  .string()
  .max(maxPageIds * maxIdLength)
  .transform((text) => text.split(","))
  .pipe(z.array(issuedKeyId).max(maxPageIds));

/** The IDs of the keyspaces of a page, in the same form. */
export const keyspaceIds = z
  .string()
  .max(maxPageIds * maxIdLength)
  .transform((text) => text.split(","))
  .pipe(z.array(keyspaceId).max(maxPageIds));

/** The token of a link that the page sends. */
export const linkToken = z.string().min(1).max(100);

/** The ID of a notice. */
export const noticeId = idOf("notice", "must be the ID of a notice");

/** The ID of a user. */
export const userId = idOf("user", "must be the ID of a user");

/** The ID of what an audit event is about. */
export const auditTargetId = z.string().transform((text, context): string => {
  const id = decodeTargetId(text);
  if (id) return id;
  const message =
    "must be the ID of a user, an API key, an invitation, a webhook, a keyspace, an issued key, a consumer or a workspace";
  context.addIssue({ code: "custom", ...customIssue("invalid_format", message) });
  return z.NEVER;
});

export function decodeTargetId(text: string): string | undefined {
  return (
    decodeId("user", text) ??
    decodeId("key", text) ??
    decodeId("invitation", text) ??
    decodeId("webhook", text) ??
    decodeId("keyspace", text) ??
    decodeId("issuedKey", text) ??
    decodeId("consumer", text) ??
    decodeId("workspace", text)
  );
}

/** A role in a workspace, from most to least powerful. */
export const role = z.enum(roles);

/** The name of a service account. */
export const serviceAccountName = name("Enter a name.", maxLength.serviceAccountName);

/** The role of a service account, which can't be an owner. */
export const serviceAccountRole = role.exclude(["owner"]);

/** Whether a user is a person or a service account. */
export const userKind = z.enum(userKinds);

function idOf<
  Kind extends
    | "key"
    | "workspace"
    | "user"
    | "session"
    | "invitation"
    | "passkey"
    | "webhook"
    | "delivery"
    | "notice"
    | "keyspace"
    | "issuedKey",
>(kind: Kind, message: string) {
  return z.string().transform((text, context) => {
    const id = decodeId(kind, text);
    if (id) return id;
    context.addIssue({ code: "custom", ...customIssue("invalid_format", message) });
    return z.NEVER;
  });
}

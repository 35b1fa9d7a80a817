import { createHash } from "node:crypto";
import type { KeyspaceId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import type { KeyFileField } from "@latchkey/key-file/key-file-fields";
import type { KeyFileRow } from "@latchkey/key-file/key-file-row";
import type { RejectedRow } from "@latchkey/key-file/locate-rejected";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import type { Edit } from "./domain/enter-for-edit.ts";
import {
  type ImportResult,
  type ImportRow,
  importIssuedKeys,
  rejectRepeated,
} from "./domain/issued-key-import.ts";
import type { Quotas } from "./domain/quotas.ts";
import { printable } from "./fields.ts";
import { newIssuedKeyFields } from "./issued-key-fields.ts";
import { customIssue, describeInput, toIssues } from "./issues.ts";

const digestOfNothing = createHash("sha256").digest();

/** SHA-256 of a whole key, as 64 hexadecimal digits, in base64 or in base64url. */
const hash = z
  .string("Enter the SHA-256 of the key, in hexadecimal, base64 or base64url.")
  .regex(
    /^(?:[0-9A-Fa-f]{64}|[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/,
    "Enter the SHA-256 of the key, in hexadecimal, base64 or base64url.",
  )
  // The probability that a digest in base64 has only hexadecimal digits is less than 1 in 10^19.
  .refine(
    (text) => !/^[0-9A-Fa-f]{43}=?$/.test(text),
    customIssue("invalid_format", "This is part of a hexadecimal SHA-256. Enter all 64 digits."),
  )
  // Node decodes both alphabets as base64.
  .transform((text) => Buffer.from(text, text.length === 64 ? "hex" : "base64"))
  .refine(
    (digest) => !digest.equals(digestOfNothing),
    customIssue("invalid_value", "This is the SHA-256 of an empty string. Enter the SHA-256 of a key."),
  );

const start = printable
  .max(maxLength.issuedKeyStart, `Use at most ${maxLength.issuedKeyStart} characters.`)
  .default("");

const importedKey = z.strictObject({ hash, start, ...newIssuedKeyFields } satisfies Record<
  KeyFileField,
  z.ZodType
>);

/** Checks the fields of a row. */
function parseImportRow({ line, content }: KeyFileRow): ImportRow | RejectedRow {
  if ("problem" in content && typeof content.problem === "string" && Object.keys(content).length === 1)
    return { line, path: "", message: content.problem };
  const { success, data, error } = importedKey.safeParse(content, { error: describeInput });
  if (success) {
    const { hash, start, ...request } = data;
    // `start` is stored and shown, and the whole key is a secret.
    if (!createHash("sha256").update(start).digest().equals(hash)) return { line, hash, start, request };
    const message = "This is the whole key. Enter only its first characters, or none.";
    return { line, path: "start", message };
  }
  const [issue] = toIssues(error, content);
  return { line, path: issue?.path ?? "", message: issue?.message ?? "This row is not valid." };
}

/** Checks the fields of all rows. Of several rows with the same key, the first one counts, so the others are rejected if it is. */
function parseRows(rows: readonly KeyFileRow[]): readonly (ImportRow | RejectedRow)[] {
  const isFirstValid = new Map<string, boolean>();
  return rows.map((row) => {
    const parsed = parseImportRow(row);
    const isValid = "hash" in parsed;
    const { data: digest } = hash.safeParse("hash" in row.content ? row.content.hash : undefined);
    if (!digest) return parsed;
    const key = digest.toString("base64");
    if (!isFirstValid.has(key)) isFirstValid.set(key, isValid);
    return isValid && !isFirstValid.get(key) ? rejectRepeated(row) : parsed;
  });
}

/**
 * Checks and imports rows of a file, in one transaction.
 * @throws {AppError} what {@link importIssuedKeys} throws.
 */
export async function importRows(
  trx: Trx,
  edit: Edit,
  { keyspaceId, rows }: { readonly keyspaceId: KeyspaceId; readonly rows: readonly KeyFileRow[] },
  quotas: Quotas,
): Promise<ImportResult> {
  const parsed = parseRows(rows);
  const valid = parsed.filter((row): row is ImportRow => "hash" in row);
  const invalid = parsed.filter((row): row is RejectedRow => !("hash" in row));
  const result = await importIssuedKeys(trx, edit, { keyspaceId, rows: valid }, quotas);
  const rejected = [...result.rejected, ...invalid].sort((one, other) => one.line - other.line);
  return { ...result, rejected };
}

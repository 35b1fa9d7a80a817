import type { KeyFileField } from "./key-file-fields.ts";

/** How a cell of CSV is read: as text, as a list of items separated by whitespace, or as JSON. */
export type CellFormat = "text" | "list" | "json";

export const cellFormats: Readonly<Record<KeyFileField, CellFormat>> = {
  hash: "text",
  start: "text",
  name: "text",
  externalId: "text",
  permissions: "list",
  limits: "json",
  credits: "json",
  expiresAt: "text",
  isDisabled: "json",
  ipRanges: "list",
  meta: "json",
};

import { toCsvRow } from "@latchkey/api/csv";

/** A key with its new secret. */
export interface RotatedKey {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly key?: string | undefined;
}

/** Creates the CSV file with the new secrets of keys. Spreadsheets evaluate no cell as a formula. */
export function toRotatedKeysFile(rotated: readonly RotatedKey[]): string {
  const rows = rotated.map(({ id, name, externalId, key = null }) => [id, name, externalId, key]);
  return [["id", "name", "externalId", "key"], ...rows].map(toCsvRow).join("");
}

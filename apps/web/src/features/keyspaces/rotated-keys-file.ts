import { toCsvRow } from "@latchkey/api/csv";
import type { BulkRotation } from "../../server/trpc.ts";

type RotatedKey = Pick<BulkRotation["rotated"][number], "id" | "name" | "externalId" | "key">;

/** Creates the CSV file with the new secrets of keys. Spreadsheets evaluate no cell as a formula. */
export function toRotatedKeysFile(rotated: readonly RotatedKey[]): string {
  const rows = rotated.map(({ id, name, externalId, key }) => [id, name, externalId, key]);
  return [["id", "name", "externalId", "key"], ...rows].map(toCsvRow).join("");
}

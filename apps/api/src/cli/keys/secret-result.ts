import { type ItemResult, itemOf } from "../result.ts";

/** The only result that contains a secret. */
export function secretResult(id: string, key: string): ItemResult {
  return itemOf({ id, key }, [
    { label: "ID", text: () => id },
    { label: "Key", text: () => key },
  ]);
}

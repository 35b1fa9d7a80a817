import { type ItemResult, itemOf } from "../result.ts";

/** The result of a command that creates one API key or issued key, or replaces its secret. Secrets are shown only once. */
export function secretResult(id: string, key: string): ItemResult {
  return itemOf({ id, key }, [
    { label: "ID", text: () => id },
    { label: "Key", text: () => key },
  ]);
}

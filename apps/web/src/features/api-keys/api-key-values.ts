import { maxLength } from "@latchkey/limits";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { describeExcess } from "../../ui/describe-excess.ts";

/** What a person says about a key. */
export interface ApiKeyValues {
  readonly name: string;
  readonly description: string;
}

/** What to do about each field, or null where it is good. */
export const apiKeyRules = {
  name: (name: string): string | null => {
    const { length } = collapseSpaces(name);
    return length === 0
      ? "Enter a name, for example the service that uses the key."
      : describeExcess(length, maxLength.keyName);
  },
  description: (description: string): string | null =>
    describeExcess(description.trim().length, maxLength.keyDescription),
};

/** The values as the API takes them. */
export function tidied({ name, description }: ApiKeyValues): { name: string; description: string } {
  return { name: collapseSpaces(name), description: description.trim() };
}

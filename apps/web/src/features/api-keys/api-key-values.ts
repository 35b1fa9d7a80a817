import { maxLength } from "@latchkey/limits";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { describeLengthError } from "../../ui/describe-length-error.ts";

/** The name and description of a key, as entered in the form. */
export interface ApiKeyValues {
  readonly name: string;
  readonly description: string;
}

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const apiKeyRules = {
  name: (name: string): string | null => {
    const collapsed = collapseSpaces(name);
    return collapsed === ""
      ? "Enter a name, such as the service that uses the key."
      : describeLengthError(collapsed, maxLength.keyName);
  },
  description: (description: string): string | null =>
    describeLengthError(description.trim(), maxLength.keyDescription),
};

/**
 * Returns the values as the API expects them: whitespace in the name collapsed, the description
 * trimmed.
 */
export function normalizeValues({ name, description }: ApiKeyValues): { name: string; description: string } {
  return { name: collapseSpaces(name), description: description.trim() };
}

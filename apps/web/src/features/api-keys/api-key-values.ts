import { collapseSpaces } from "../../ui/collapse-spaces.ts";

const nameLengthMax = 100;
const descriptionLengthMax = 500;

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
      ? "Enter a name, such as what will use the key."
      : describeExcess(length, nameLengthMax);
  },
  description: (description: string): string | null =>
    describeExcess(description.trim().length, descriptionLengthMax),
};

function describeExcess(length: number, lengthMax: number): string | null {
  return length > lengthMax ? `Use at most ${lengthMax} characters; these are ${length}.` : null;
}

/** The values as the API takes them. */
export function tidied({ name, description }: ApiKeyValues): { name: string; description: string } {
  return { name: collapseSpaces(name), description: description.trim() };
}

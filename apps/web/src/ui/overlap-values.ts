import { maxOverlapSeconds } from "@latchkey/limits";
import { formatCount } from "./count.ts";
import { isWholeNumber } from "./whole-number.ts";

/** The overlaps to choose from, by length in seconds, and a custom overlap. */
export const overlapChoices = [
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
  { value: "0", label: "Revoke immediately", help: "The old secret is rejected on its next request." },
  { value: "custom", label: "Custom duration" },
] as const;

/** The units of a custom overlap, by length in seconds. */
export const overlapUnits = { "1": "seconds", "60": "minutes", "3600": "hours", "86400": "days" } as const;

/** The values of the overlap form: how long the old secret stays valid after a rotation. */
export interface OverlapValues {
  readonly choice: (typeof overlapChoices)[number]["value"];
  /** The duration as entered, for "custom". */
  readonly amount: string;
  readonly unit: keyof typeof overlapUnits;
}

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const overlapRules = {
  amount: (amount: string, { choice, unit }: OverlapValues): string | null => {
    if (choice !== "custom") return null;
    const max = maxOverlapSeconds / Number(unit);
    if (isWholeNumber(amount, { min: 0, max })) return null;
    return `Enter a whole number of ${overlapUnits[unit]} from 0 to ${formatCount(max)}.`;
  },
};

/** Returns the overlap in seconds. Validate the values with {@link overlapRules} first. */
export function readOverlapSeconds({ choice, amount, unit }: OverlapValues): number {
  return choice === "custom" ? Number(amount) * Number(unit) : Number(choice);
}

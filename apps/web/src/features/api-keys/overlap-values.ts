import { maxOverlapSeconds } from "@latchkey/limits";
import { formatCount } from "../../ui/count.ts";

/** Overlaps to choose from, with their length in seconds, and one to type. */
export const overlapChoices = [
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
  { value: "0", label: "No overlap", help: "The old secret is rejected on its next request." },
  { value: "custom", label: "Custom duration" },
] as const;

/** Units of a typed overlap, by their length in seconds. */
export const overlapUnits = { "60": "minutes", "3600": "hours", "86400": "days" } as const;

/** How long the former secret of a key stays valid after a rotation, as the form holds it. */
export interface OverlapValues {
  readonly choice: (typeof overlapChoices)[number]["value"];
  /** As it is typed, for "custom". */
  readonly amount: string;
  readonly unit: keyof typeof overlapUnits;
}

/** What to do about each field, or null where it is good. */
export const overlapRules = {
  amount: (amount: string, { choice, unit }: OverlapValues): string | null => {
    if (choice !== "custom") return null;
    const max = maxOverlapSeconds / Number(unit);
    if (/^\d+$/.test(amount) && Number(amount) <= max) return null;
    return `Enter a whole number of ${overlapUnits[unit]} from 0 to ${formatCount(max)}.`;
  },
};

/** The overlap in seconds. Check the values with {@link overlapRules} before. */
export function readOverlapSeconds({ choice, amount, unit }: OverlapValues): number {
  return choice === "custom" ? Number(amount) * Number(unit) : Number(choice);
}

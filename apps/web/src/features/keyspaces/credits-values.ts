import { issuedKeyLimits } from "@latchkey/limits";
import type { IssuedKey } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";

type Credits = NonNullable<IssuedKey["credits"]>;

/** The values of the fields of credits. */
export interface CreditsValues {
  /** Empty for no credits. */
  readonly credits: string;
  readonly refill: "never" | "daily" | "monthly";
  readonly refillAmount: string;
  readonly refillDay: string;
}

/** The fields that form the setting of a refill. */
export const refillNames = ["refill", "refillAmount", "refillDay"] as const;

export function readCredits(credits: Credits | null): CreditsValues {
  const refill = credits?.refill ?? null;
  return {
    credits: credits ? String(credits.remaining) : "",
    refill: refill?.interval ?? "never",
    refillAmount: refill ? String(refill.amount) : "",
    refillDay: String(refill?.day ?? 1),
  };
}

export function toCredits({ credits, refill, refillAmount, refillDay }: CreditsValues): Credits | null {
  if (credits.trim() === "") return null;
  return {
    remaining: Number(credits),
    refill:
      refill === "never"
        ? null
        : {
            amount: Number(refillAmount),
            interval: refill,
            day: refill === "monthly" ? Number(refillDay) : null,
          },
  };
}

const { maxCredits } = issuedKeyLimits;

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const creditsRules = {
  credits: (credits: string): string | null =>
    credits.trim() === "" || isWholeNumber(credits, { min: 0, max: maxCredits })
      ? null
      : `Enter a whole number from 0 to ${formatCount(maxCredits)}, or leave empty for no limit.`,
  refillAmount: (amount: string, { credits, refill }: CreditsValues): string | null =>
    credits.trim() === "" || refill === "never" || isWholeNumber(amount, { min: 1, max: maxCredits })
      ? null
      : `Enter a whole number from 1 to ${formatCount(maxCredits)}.`,
  refillDay: (day: string, { credits, refill }: CreditsValues): string | null =>
    credits.trim() === "" || refill !== "monthly" || isWholeNumber(day, { min: 1, max: 31 })
      ? null
      : "Enter a day from 1 to 31.",
};

/** Credits in words: "1,000", "1,000, refilled to 5,000 on day 1 of each month at midnight UTC". */
export function describeCredits({ remaining, refill }: Credits): string {
  const balance = formatCount(remaining);
  if (!refill) return balance;
  const when = refill.interval === "daily" ? "every day" : `on day ${refill.day} of each month`;
  return `${balance}, refilled to ${formatCount(refill.amount)} ${when} at midnight UTC`;
}

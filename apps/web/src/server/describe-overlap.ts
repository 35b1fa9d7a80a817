import { describeDuration } from "../ui/elapsed.ts";

/** What happens to the old secret after a rotation, as the end of a sentence. Empty for an unknown overlap. */
export function describeOverlap(seconds: unknown): string {
  if (typeof seconds !== "number") return "";
  return seconds === 0
    ? "; the old secret was revoked"
    : `; the old secret stays valid for ${describeDuration(seconds)}`;
}

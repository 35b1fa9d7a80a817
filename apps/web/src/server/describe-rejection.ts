import { readerLocale } from "../ui/elapsed.ts";
import type { Failure } from "./failure.ts";

/**
 * Returns the message of the form for a failed sign-in or sign-up. After too many attempts, it says when
 * the next attempt is allowed, according to the browser's clock.
 * @param submittedAt when the form was submitted, in milliseconds since 1970.
 */
export function describeRejection(
  { code, message, retryAfterSeconds }: Failure,
  submittedAt: number,
): string {
  if (code !== "TOO_MANY_REQUESTS" || retryAfterSeconds === undefined) return message;
  // The wait began when the server answered, within the second after the form was submitted.
  const retryAt = new Date(submittedAt + (retryAfterSeconds + 1) * 1_000);
  return `Too many attempts. Try again after ${retryAt.toLocaleTimeString(readerLocale(), { timeStyle: "medium" })}.`;
}

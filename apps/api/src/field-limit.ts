import { AppError } from "@latchkey/errors";

/**
 * The most fields of an object in a request, far more than any endpoint accepts. Without this limit, thousands of unknown fields
 * would be checked one by one, which would block the event loop.
 */
export const maxFields = 1_000;

/** The error for an object with more than {@link maxFields} fields. */
export function tooManyFields(): AppError {
  const message = `An object in the body has more than ${maxFields.toLocaleString("en")} fields`;
  return new AppError("BAD_REQUEST", { message });
}

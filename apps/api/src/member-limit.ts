import { AppError } from "@latchkey/errors";

/**
 * The most fields of an object in a request. It is far more than any endpoint accepts, and keeps a body of thousands of unknown fields
 * from being checked field by field, which would block the event loop.
 */
export const maxMembers = 1_000;

export function tooManyMembers(): AppError {
  const message = `An object in the body has more than ${maxMembers.toLocaleString("en")} fields`;
  return new AppError("BAD_REQUEST", { message });
}

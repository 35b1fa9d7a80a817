import { AppError } from "@latchkey/errors";

/** The error for a request of the web app that has no session, or whose session has ended since the request arrived. */
export function signInRequired(): AppError {
  return new AppError("UNAUTHORIZED", { message: "Sign in to continue." });
}

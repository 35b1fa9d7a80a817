import { AppError } from "@latchkey/errors";

/** The same for a wrong password, an unknown email address, and a user who is disabled or was just deleted. */
export function wrongCredentials(cause?: unknown): AppError {
  return new AppError("UNAUTHORIZED", { message: "The email address or password is wrong.", cause });
}

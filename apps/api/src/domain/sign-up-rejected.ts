import { AppError } from "@latchkey/errors";
import type { PublicConfiguration } from "./services.ts";

/** Who can sign up. */
export type Registration = PublicConfiguration["registration"];

/** The error for a sign-up on an instance whose registration isn't open. */
export function signUpRejected(registration: Exclude<Registration, "open">): AppError {
  return new AppError("FORBIDDEN", { message: explainRegistration(registration) });
}

/** Says why a sign-up is rejected, and what the person can do. */
export function explainRegistration(registration: Exclude<Registration, "open">): string {
  return registration === "invite"
    ? "You need an invitation to sign up on this instance. Open the link in your invitation, and continue there."
    : "Sign-up is disabled on this instance. Ask its operator for an account.";
}

import type { Verdict } from "@latchkey/auth/verdict";
import { workspaceDisabled } from "@latchkey/auth/workspace-access";
import { AppError } from "@latchkey/errors";

/**
 * Returns the verdict of an admitted request. @throws {AppError} the error that callers get for any other verdict.
 */
export function requireAdmitted(verdict: Verdict): Verdict & { readonly kind: "admitted" } {
  switch (verdict.kind) {
    case "admitted":
      return verdict;
    case "limited": {
      const { resetsInSeconds } = verdict.limit;
      throw new AppError("TOO_MANY_REQUESTS", { retryAfterSeconds: resetsInSeconds });
    }
    case "rejected":
      throw verdict.reason === "workspace-disabled" ? workspaceDisabled() : new AppError("FORBIDDEN");
    case "unavailable":
      throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: verdict.retryAfterSeconds });
    default:
      return verdict satisfies never;
  }
}

import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type {
  VerificationOutcome,
  VerificationRequest,
  VerificationResult,
} from "@latchkey/auth/verification";
import type { WorkspaceId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { verificationLimits } from "@latchkey/limits";
import type { Context } from "koa";
import type { Endpoint } from "./endpoint.ts";
import { createTurns } from "./event-loop-turns.ts";
import { nameReused } from "./idempotency.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonTextReply, type Reply } from "./reply.ts";
import type { VerifiedRequest } from "./request-listener.ts";
import { requireAdmitted } from "./require-admitted.ts";

/** Presenting as many results takes less than a millisecond, also if the keys have much data of their own. */
const maxResultsPerTurn = 10;

/** Records and answers requests that verify keys. */
export function verificationHandler(
  recorder: Pick<UsageRecorder, "record" | "recordUse" | "recordVerifications">,
): (ctx: Context, verified: VerifiedRequest) => Reply | Promise<Reply> {
  const takeTurn = createTurns();
  return (ctx, { route, path, address, request, verdict, outcome }) => {
    const { method, requestId } = ctx;
    // A workspace counts the use as one of its own, so that a key that only verifies doesn't become idle there.
    for (const workspaceId of workspacesOf(outcome))
      recorder.record(verdict, { workspaceId, address, method, path, requestId });
    if (request && "verifications" in request && outcome?.kind === "verified") {
      recordUses(recorder, request.verifications, outcome.results);
      recorder.recordVerifications(request.verifications, outcome.results, requestId);
    }
    if ("limit" in verdict) ctx.limit = verdict.limit;
    requireAdmitted(verdict);
    if (request instanceof AppError) throw request;
    const { verifies, response } = route.endpoint;
    if (!outcome || !verifies) throw new Error("An admitted request has no outcome.");
    const results = requireVerified(outcome, verifies);
    const present = () =>
      jsonTextReply(requestId, {
        status: response.status,
        text: verifies.format(results),
        headers: rateLimitHeaders(ctx.limit),
      });
    return results.length > maxResultsPerTurn ? takeTurn().then(present) : present();
  };
}

/** The workspaces of the keys that were found; none of them if no key was. */
function workspacesOf(outcome: VerificationOutcome | undefined): readonly (WorkspaceId | undefined)[] {
  if (outcome?.kind !== "verified") return [undefined];
  const found = outcome.results.flatMap((result) => ("key" in result ? [result.key.workspaceId] : []));
  return found.length > 0 ? [...new Set(found)] : [undefined];
}

/** Records the uses of API keys that were verified, as if their owners had sent requests to the workspace. */
function recordUses(
  recorder: Pick<UsageRecorder, "recordUse">,
  verifications: VerificationRequest["verifications"],
  results: readonly VerificationResult[],
): void {
  for (const [index, result] of results.entries()) {
    if (!("key" in result) || !result.apiKeyUse) continue;
    const { workspaceId } = result.key;
    recorder.recordUse(result.apiKeyUse, { workspaceId, address: verifications[index]?.clientAddress });
  }
}

/** @throws {AppError} BAD_REQUEST for a limit that the key doesn't have, and the errors of an `Idempotency-Key`. */
function requireVerified(
  outcome: VerificationOutcome,
  { pathOf }: NonNullable<Endpoint["verifies"]>,
): readonly VerificationResult[] {
  switch (outcome.kind) {
    case "verified":
      return outcome.results;
    case "name-reused":
      throw nameReused();
    case "too-many-names":
      throw new AppError("TOO_MANY_REQUESTS", {
        message: [
          "This API key has reached the limit of ",
          { count: verificationLimits.maxIdempotentPerHour },
          " verifications with an Idempotency-Key per hour. Send the request without one, or try again later.",
        ],
        retryAfterSeconds: outcome.retryAfterSeconds,
      });
    case "unknown-limit": {
      const path = `${pathOf(outcome.verification)}limits.${outcome.limit}.name`;
      const message = "The key and its consumer have no limit with this name.";
      throw new AppError("BAD_REQUEST", { issues: [{ path, code: "not_found", message }] });
    }
    default:
      return outcome satisfies never;
  }
}

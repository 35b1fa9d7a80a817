import { createHash } from "node:crypto";
import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type {
  VerificationOutcome,
  VerificationRequest,
  VerificationResult,
} from "@latchkey/auth/verification";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import { responseDeadlineMs, withinDeadline } from "./deadline.ts";
import { requireOneHost } from "./edge-rules.ts";
import type { Endpoint } from "./endpoint.ts";
import { nameReused, readIdempotencyKey } from "./idempotency.ts";
import { hasBody, readJsonBody, rejectLargeBody } from "./json-body.ts";
import type { Route } from "./open-routes.ts";
import { parseQuery } from "./query.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply, type Reply } from "./reply.ts";
import type { UndecidedRequest } from "./request-listener.ts";
import { requireAdmitted } from "./require-admitted.ts";

/** Serves requests that verify keys. */
export function verificationHandler(
  recorder: Pick<UsageRecorder, "record">,
): (ctx: Context, request: UndecidedRequest) => Promise<Reply> {
  return async (ctx, { route, path, address, admit, verify }) => {
    const { method, requestId } = ctx;
    const request = await parseRequest(ctx, route);
    // Authentication comes first: an invalid request gets its error only if its key is valid.
    const { verdict, outcome } =
      request instanceof AppError
        ? { verdict: await admit(), outcome: undefined }
        : await withinDeadline(responseDeadlineMs, verify(request));
    recorder.record(verdict, { workspaceId: undefined, address, method, path, requestId });
    if ("limit" in verdict) ctx.limit = verdict.limit;
    requireAdmitted(verdict);
    if (request instanceof AppError) throw request;
    const { verifies, response } = route.endpoint;
    if (!outcome || !verifies) throw new Error("An admitted request has no outcome.");
    return jsonReply(requestId, {
      status: response.status,
      value: verifies.present(requireVerified(outcome, verifies)),
      headers: rateLimitHeaders(ctx.limit),
    });
  };
}

/** Reads and parses a request. Returns the error of an invalid one, which is thrown only after admission. */
async function parseRequest(
  ctx: Context,
  { endpoint: { verifies }, params }: Route,
): Promise<Omit<VerificationRequest, "address"> | AppError> {
  try {
    requireOneHost(ctx.req);
    rejectLargeBody(ctx);
    const query = parseQuery(ctx.req.url ?? "");
    const key = readIdempotencyKey(ctx);
    const body = hasBody(ctx.req) ? await readJsonBody(ctx) : {};
    const bodyHash = createHash("sha256").update(JSON.stringify(body)).digest();
    return {
      verifications: verifies?.parse({ params, query, body }) ?? [],
      name: key === undefined ? undefined : { method: ctx.method, path: ctx.path, key, bodyHash },
    };
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
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
    case "unknown-limit": {
      const path = `${pathOf(outcome.verification)}limits.${outcome.limit}.name`;
      const message = "The key and its consumer have no limit with this name.";
      throw new AppError("BAD_REQUEST", { issues: [{ path, code: "not_found", message }] });
    }
    default:
      return outcome satisfies never;
  }
}

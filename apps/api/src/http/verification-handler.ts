import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type { UnknownLimit, Verification } from "@latchkey/auth/verification";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import { responseDeadlineMs, withinDeadline } from "./deadline.ts";
import { requireOneHost } from "./edge-rules.ts";
import type { Endpoint } from "./endpoint.ts";
import { hasBody, readJsonBody, rejectLargeBody } from "./json-body.ts";
import { parseQuery } from "./query.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply, type Reply } from "./reply.ts";
import type { UndecidedRequest } from "./request-listener.ts";
import { requireAdmitted } from "./require-admitted.ts";

/** Serves requests that verify keys. */
export function verificationHandler(
  recorder: Pick<UsageRecorder, "record">,
): (ctx: Context, request: UndecidedRequest) => Promise<Reply> {
  return async (ctx, { route: { endpoint, params }, path, address, admit, verify }) => {
    const { method, requestId } = ctx;
    const parsed = await parseVerifications(ctx, endpoint, params);
    // Authentication comes first: an invalid request gets its error only if its key is valid.
    const { verdict, results } =
      parsed instanceof AppError
        ? { verdict: await admit(), results: undefined }
        : await withinDeadline(responseDeadlineMs, verify(parsed));
    recorder.record(verdict, { workspaceId: undefined, address, method, path, requestId });
    if ("limit" in verdict) ctx.limit = verdict.limit;
    requireAdmitted(verdict);
    if (parsed instanceof AppError) throw parsed;
    if (!results || !endpoint.verifies) throw new Error("An admitted request has no results.");
    if ("verification" in results) throw unknownLimit(endpoint.verifies.pathOf(results.verification), results);
    return jsonReply(requestId, {
      status: endpoint.response.status,
      value: endpoint.verifies.present(results),
      headers: rateLimitHeaders(ctx.limit),
    });
  };
}

/** Reads and parses the body. Returns the error of an invalid request, which is thrown only after admission. */
async function parseVerifications(
  ctx: Context,
  { verifies }: Endpoint,
  params: Readonly<Record<string, string>>,
): Promise<readonly Verification[] | AppError> {
  try {
    requireOneHost(ctx.req);
    rejectLargeBody(ctx);
    const query = parseQuery(ctx.req.url ?? "");
    const body = hasBody(ctx.req) ? await readJsonBody(ctx) : {};
    return verifies?.parse({ params, query, body }) ?? [];
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function unknownLimit(path: string, { limit }: UnknownLimit): AppError {
  const message = "The key has no limit with this name.";
  return new AppError("BAD_REQUEST", {
    issues: [{ path: `${path}limits.${limit}.name`, code: "invalid_value", message }],
  });
}

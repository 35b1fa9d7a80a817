import type { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import { shortenUserAgent } from "@latchkey/auth/user-agent";
import type { LimitState, Principal } from "@latchkey/auth/verdict";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import type { Services } from "../domain/services.ts";
import { andThen } from "./and-then.ts";
import { compressReply } from "./compress-reply.ts";
import { minRemainingMs, rollBackAfter, withinDeadline } from "./deadline.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { requireOneHost, unauthorized } from "./edge-rules.ts";
import type { Answer, Endpoint } from "./endpoint.ts";
import type { AnyCall, Call } from "./endpoint-call.ts";
import { etagOf, isKnownToClient, readIfMatch } from "./entity-tag.ts";
import { type EndpointResult, readIdempotencyKey, runIdempotently } from "./idempotency.ts";
import { hasBody, readJsonBody, rejectLargeBody } from "./json-body.ts";
import { openExport } from "./open-exports.ts";
import type { RawInput } from "./parse-input.ts";
import { parseQuery, type Query } from "./query.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply } from "./reply.ts";
import type { AdmissionOutcome, DecidedRequest, ServeOpen, VerifiedRequest } from "./request-listener.ts";
import { requireAdmitted } from "./require-admitted.ts";
import { fileReply } from "./streamed-file.ts";
import { createChangeSemaphore, createReadSemaphore } from "./user-concurrency.ts";
import { verificationHandler } from "./verification-handler.ts";

declare module "koa" {
  interface ExtendableContext {
    /** The state of the key's rate limit; undefined for a key without one. */
    limit?: LimitState | undefined;
  }
}

export interface OpenApiOptions {
  readonly services: Services;
  readonly recorder: Pick<UsageRecorder, "record" | "recordUse" | "recordVerifications">;
  /** From `createExportSemaphore`. */
  readonly exports: FairSemaphore<UserId>;
}

/**
 * Handles requests under `/open` after admission. Authentication comes first: without a valid key, every request gets
 * the same response. No part of it is `async`, so that a request that needs no I/O is answered synchronously.
 */
export function openApi({ services, recorder, exports }: OpenApiOptions): ServeOpen {
  const changes = createChangeSemaphore(services.changeConnections);
  const reads = createReadSemaphore(services.readConnections);
  const serveVerification = verificationHandler(recorder);
  const { responseMs } = services.deadlines;
  return (ctx, outcome) => {
    if (outcome.kind === "verified") return serveVerification(ctx, outcome);
    const { verdict, route, path, address, arrivedAt } = requireDecided(outcome);
    const { method, requestId } = ctx;
    recorder.record(verdict, { workspaceId: workspaceOf(route), address, method, path, requestId });
    if ("limit" in verdict) ctx.limit = verdict.limit;
    const { principal, access } = requireAdmitted(verdict);
    // The handler gets the time that remains after admission. The time that the client takes to send its body isn't
    // counted.
    const budgetMs = responseMs - (performance.now() - arrivedAt);
    requireOneHost(ctx.req);
    rejectLargeBody(ctx.req);
    const query = parseQuery(ctx.req.url ?? "");
    if (route instanceof AppError) throw route;
    const { endpoint, params } = route;
    return andThen(readBody(ctx, endpoint), (body) => {
      const input = { params, query, body };
      const deadline = performance.now() + budgetMs;
      // A file is read in many turns, long after the response has begun.
      const findDeadline = (): number =>
        endpoint.openFile ? Math.max(deadline, performance.now() + responseMs) : deadline;
      const call = createCall(ctx, services, endpoint, {
        principal,
        access,
        address,
        read: (work) =>
          reads.run(principal.userId, findDeadline(), () => services.readDb.connection().execute(work)),
        transact: (work) =>
          changes.run(principal.userId, deadline - minRemainingMs, () =>
            services.db.transaction().execute(work),
          ),
      });
      if (endpoint.openFile) {
        const { openFile } = endpoint;
        const { userId } = principal;
        const opened = openExport(exports, { userId, res: ctx.res }, () => openFile(input, call));
        return withinDeadline(budgetMs, opened).then((file) =>
          fileReply(requestId, file, rateLimitHeaders(ctx.limit)),
        );
      }
      const result = runEndpoint(ctx, endpoint, { input, call, deadline });
      return andThen(
        result instanceof Promise ? withinDeadline(budgetMs, result) : result,
        ({ status, answer, isReplayed }) => {
          const etag = tagOf(endpoint, answer);
          const isUnchanged = etag !== undefined && isNotModified(ctx, endpoint, { answer, etag });
          const reply = jsonReply(requestId, {
            status: isUnchanged ? 304 : status,
            value: isUnchanged ? undefined : answer,
            headers: [
              ...rateLimitHeaders(ctx.limit),
              ...(etag === undefined ? [] : ["ETag", etag]),
              ...(typeof answer?.nextCursor === "string"
                ? ["Link", nextPageLink(services.baseUrl + path, query, answer.nextCursor)]
                : []),
              ...(endpoint.deprecated ? deprecationHeaders(endpoint.deprecated) : []),
              ...(isReplayed ? ["Idempotent-Replayed", "true"] : []),
            ],
          });
          return endpoint.isCompressible ? compressReply(ctx, reply) : reply;
        },
      );
    });
  };
}

/** Reads the body; an empty object if the endpoint takes a body and none was sent. */
function readBody(ctx: Context, { request }: Endpoint): Promise<object> | object | undefined {
  if (hasBody(ctx.req)) return readJsonBody(ctx.req);
  return request.body ? {} : undefined;
}

/**
 * Runs the endpoint; at most once per `Idempotency-Key`. A change that has started is completed even after the deadline, so that a
 * retry finds it done, even if it always takes longer than the deadline. A POST without an `Idempotency-Key` is rolled back instead,
 * because a retry would repeat it. Repeating the other methods changes nothing more.
 */
function runEndpoint(
  ctx: Context,
  endpoint: Endpoint,
  { input, call, deadline }: { readonly input: RawInput; readonly call: AnyCall; readonly deadline: number },
): EndpointResult | Promise<EndpointResult> {
  const isPost = endpoint.method === "POST";
  const key = isPost ? readIdempotencyKey(ctx.req) : undefined;
  if (key === undefined) {
    const { status } = endpoint.response;
    const answered = endpoint.run(input, isPost ? withRollback(call, deadline) : call);
    return andThen(answered, (answer) => ({ status, answer, isReplayed: false }));
  }
  const { userId } = call.principal;
  const path = idempotencyPathOf(endpoint, ctx.path, call.principal);
  const name = { userId, method: endpoint.method, path, key };
  return runIdempotently(endpoint, { name, input, call });
}

/** A call whose change is rolled back if its work ends after the deadline. */
function withRollback(call: AnyCall, deadline: number): AnyCall {
  const { transact } = call;
  return { ...call, transact: (work) => transact(rollBackAfter(deadline, work)) };
}

/** @throws {AppError} UNAUTHORIZED for a request without a key, and the unexpected error if admission failed. */
function requireDecided(outcome: Exclude<AdmissionOutcome, VerifiedRequest>): DecidedRequest {
  switch (outcome.kind) {
    case "decided":
      return outcome;
    case "no-key":
      throw unauthorized();
    case "failed":
      throw outcome.error;
    default:
      return outcome satisfies never;
  }
}

function workspaceOf(route: DecidedRequest["route"]): WorkspaceId | undefined {
  const requirement = "requirement" in route ? route.requirement : undefined;
  return typeof requirement === "object" ? requirement.workspaceId : undefined;
}

/**
 * The path that an `Idempotency-Key` is scoped to. It includes the key if the path refers to the key of the
 * request.
 */
function idempotencyPathOf({ isAboutKey }: Endpoint, path: string, { keyId }: Principal): string {
  return isAboutKey ? `${path} ${keyId}` : path;
}

function createCall(
  ctx: Context,
  services: Services,
  endpoint: Endpoint,
  context: {
    readonly principal: Principal;
    readonly access: WorkspaceAccess | undefined;
    readonly address: string | undefined;
    readonly read: Call["read"];
    readonly transact: Call["transact"];
  },
): AnyCall {
  const { principal, access, address, read, transact } = context;
  const call: Call = {
    services,
    principal,
    origin: {
      actor: {
        kind: "key",
        userId: principal.userId,
        keyId: principal.keyId,
        digest: principal.digest,
      },
      address: address ?? null,
      requestId: ctx.requestId,
      // Only changes are logged with it.
      userAgent: endpoint.method === "GET" ? null : shortenUserAgent(ctx.headers["user-agent"]),
    },
    now: new Date(),
    isOwnRetry: false,
    ifMatch: endpoint.request.ifMatch ? readIfMatch(ctx.req) : undefined,
    read,
    transact,
  };
  return access ? { ...call, access } : call;
}

/** The entity tag of a response body; undefined for a resource without versions. */
function tagOf({ response, secrets }: Endpoint, answer: Answer): string | undefined {
  if (!response.schema || !response.hasEtag || !answer) return undefined;
  return etagOf(answer, { fields: response.notInEtag, secret: secrets?.member });
}

/**
 * Evaluates the preconditions of a GET against its response. A change evaluates `If-Match` in its transaction.
 * @returns whether the client already has the current response.
 * @throws {AppError} PRECONDITION_FAILED, BAD_REQUEST
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-precedence-of-preconditions
 */
function isNotModified(
  ctx: Context,
  { method }: Endpoint,
  { answer, etag }: { readonly answer: Answer; readonly etag: string },
): boolean {
  if (method !== "GET") return false;
  const versions = readIfMatch(ctx.req);
  if (versions && !versions.includes(Number(answer?.version))) throw new AppError("PRECONDITION_FAILED");
  return isKnownToClient(ctx.req, etag);
}

/** @see https://www.rfc-editor.org/rfc/rfc8288 */
function nextPageLink(url: string, query: Query, cursor: string): string {
  const next = new URL(url);
  // The schema of a list rejects a parameter that occurs twice, and trims the others.
  const texts = Object.entries(query as Record<string, string>).map(([name, text]) => [name, text.trim()]);
  next.search = new URLSearchParams({ ...Object.fromEntries(texts), cursor }).toString();
  return `<${next.href}>; rel="next"`;
}

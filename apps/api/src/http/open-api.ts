import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type { LimitState, Principal, Verdict } from "@latchkey/auth/verdict";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { WorkspaceId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import type { Instance } from "../domain/instance.ts";
import type { Asked, Judged, ServeOpen } from "./admit-first.ts";
import { andThen } from "./and-then.ts";
import { compressReply } from "./compress-reply.ts";
import { withinDeadline } from "./deadline.ts";
import { deprecationHeaders } from "./deprecation.ts";
import { requireOneHost, unauthorized } from "./edge-rules.ts";
import type { Answer, AnyCall, Call, Endpoint } from "./endpoint.ts";
import { etagOf, isKnownToClient, readIfMatch } from "./entity-tag.ts";
import { type CarriedOut, onceByName, readIdempotencyKey } from "./idempotency.ts";
import { hasBody, maxBodyBytes, readJsonBody } from "./json-body.ts";
import type { RawInput } from "./parse-input.ts";
import { parseQuery, type Query } from "./query.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { jsonReply } from "./reply.ts";
import { createChangeSemaphore, createReadSemaphore } from "./user-concurrency.ts";

declare module "koa" {
  interface ExtendableContext {
    /** Where the limit of the request's key stands; undefined for a key without one. */
    limit?: LimitState | undefined;
  }
}

/** Callers were promised an answer within two seconds, also with the database away. */
const answerWithinMs = 1_800;

export interface OpenApiOptions {
  readonly instance: Instance;
  readonly recorder: Pick<UsageRecorder, "record">;
}

/**
 * Everything below `/open`, for requests that admission was asked about. Authentication comes first: without a good key,
 * nothing here tells anything apart. No part of it is `async`: a request that waits for nobody is to be answered at once.
 */
export function openApi({ instance, recorder }: OpenApiOptions): ServeOpen {
  const changes = createChangeSemaphore();
  const reads = createReadSemaphore(instance.readConnections);
  return (ctx, asked) => {
    const { verdict, route, path, address, arrivedAt } = requireJudged(asked);
    const { method, requestId } = ctx;
    recorder.record(verdict, { workspaceId: workspaceOf(route), address, method, path, requestId });
    if ("limit" in verdict) ctx.limit = verdict.limit;
    const { principal, access } = requireAdmitted(verdict);
    // What admission left of the time promised is the handler's. The caller's own time, to send a body, is not in it.
    const budgetMs = answerWithinMs - (performance.now() - arrivedAt);
    requireOneHost(ctx.req);
    refuseLargeBody(ctx);
    const query = parseQuery(ctx.req.url ?? "");
    if (route instanceof AppError) throw route;
    const { endpoint, params } = route;
    return andThen(readBody(ctx, endpoint), (body) => {
      const input = { params, query, body };
      const deadline = performance.now() + budgetMs;
      const call = createCall(ctx, instance, endpoint, {
        principal,
        access,
        address,
        read: (work) =>
          reads.run(principal.userId, deadline, () => instance.readDb.connection().execute(work)),
        transact: (work) =>
          changes.run(principal.userId, deadline, () => instance.db.transaction().execute(work)),
      });
      const running = carryOut(ctx, endpoint, { input, call });
      return andThen(
        running instanceof Promise ? withinDeadline(budgetMs, running) : running,
        ({ status, answer, isReplayed }) => {
          const etag = tagOf(endpoint, answer);
          const isKnown = etag !== undefined && isAnsweredByTag(ctx, endpoint, { answer, etag });
          const reply = jsonReply(requestId, {
            status: isKnown ? 304 : status,
            value: isKnown ? undefined : answer,
            headers: [
              ...rateLimitHeaders(ctx.limit),
              ...(etag === undefined ? [] : ["ETag", etag]),
              ...(typeof answer?.nextCursor === "string"
                ? ["Link", nextPageLink(instance.baseUrl + path, query, answer.nextCursor)]
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

/** What was sent as the body: an empty object where the endpoint takes one and none was sent. */
function readBody(ctx: Context, { request }: Endpoint): Promise<object> | object | undefined {
  if (hasBody(ctx.req)) return readJsonBody(ctx);
  return request.body ? {} : undefined;
}

/** Runs the endpoint; where the client has given its request a name, once by that name. */
function carryOut(
  ctx: Context,
  endpoint: Endpoint,
  { input, call }: { readonly input: RawInput; readonly call: AnyCall },
): CarriedOut | Promise<CarriedOut> {
  const key = endpoint.method === "POST" ? readIdempotencyKey(ctx) : undefined;
  if (key === undefined) {
    const { status } = endpoint.response;
    return andThen(endpoint.run(input, call), (answer) => ({ status, answer, isReplayed: false }));
  }
  const { userId } = call.principal;
  const name = { userId, method: endpoint.method, path: nameOf(endpoint, ctx.path, call.principal), key };
  return onceByName(endpoint, { name, input, call });
}

/** @throws {AppError} UNAUTHORIZED for a request without a key; else the bug that kept admission from being asked. */
function requireJudged(asked: Asked): Judged {
  switch (asked.kind) {
    case "judged":
      return asked;
    case "no-key":
      throw unauthorized();
    case "failed":
      throw asked.error;
    default:
      return asked satisfies never;
  }
}

function workspaceOf(route: Judged["route"]): WorkspaceId | undefined {
  const requirement = "requirement" in route ? route.requirement : undefined;
  return typeof requirement === "object" ? requirement.workspaceId : undefined;
}

/** Where the path means something else for each key, the key is part of what a client calls its request. */
function nameOf({ isAboutKey }: Endpoint, path: string, { keyId }: Principal): string {
  return isAboutKey ? `${path} ${keyId}` : path;
}

function createCall(
  ctx: Context,
  instance: Instance,
  endpoint: Endpoint,
  asked: {
    readonly principal: Principal;
    readonly access: WorkspaceAccess | undefined;
    readonly address: string | undefined;
    readonly read: Call["read"];
    readonly transact: Call["transact"];
  },
): AnyCall {
  const { principal, access, address, read, transact } = asked;
  const call: Call = {
    instance,
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
    },
    now: new Date(),
    isOwnRetry: false,
    ifMatch: endpoint.request.ifMatch ? readIfMatch(ctx.req) : undefined,
    read,
    transact,
  };
  return access ? { ...call, access } : call;
}

/** The entity tag of an answer; undefined for a resource without versions. */
function tagOf({ response }: Endpoint, answer: Answer): string | undefined {
  if (response.status === 204 || !response.hasEtag || !answer) return undefined;
  return etagOf(answer, response.notInEtag);
}

/**
 * Evaluates the preconditions of a GET, whose answer they go by; a change evaluates `If-Match` in its transaction.
 * @returns whether the client has the answer already.
 * @throws {AppError} PRECONDITION_FAILED, BAD_REQUEST
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-precedence-of-preconditions
 */
function isAnsweredByTag(
  ctx: Context,
  { method }: Endpoint,
  { answer, etag }: { readonly answer: Answer; readonly etag: string },
): boolean {
  if (method !== "GET") return false;
  const versions = readIfMatch(ctx.req);
  if (versions && !versions.includes(Number(answer?.version))) throw new AppError("PRECONDITION_FAILED");
  return isKnownToClient(ctx.req, etag);
}

/** Turns a verdict into who is admitted, or into the one failure that callers see for it. */
function requireAdmitted(verdict: Verdict): Verdict & { readonly kind: "admitted" } {
  switch (verdict.kind) {
    case "admitted":
      return verdict;
    case "limited": {
      const { resetsInSeconds } = verdict.limit;
      throw new AppError("TOO_MANY_REQUESTS", { retryAfterSeconds: resetsInSeconds });
    }
    case "refused":
      throw new AppError("FORBIDDEN");
    case "unavailable":
      throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: verdict.retryAfterSeconds });
    default:
      return verdict satisfies never;
  }
}

function refuseLargeBody(ctx: Context): void {
  if (Number(ctx.req.headers["content-length"] ?? 0) > maxBodyBytes) throw new AppError("PAYLOAD_TOO_LARGE");
}

/** @see https://www.rfc-editor.org/rfc/rfc8288 */
function nextPageLink(url: string, query: Query, cursor: string): string {
  const next = new URL(url);
  // The schema of a list rejects a parameter that occurs twice.
  next.search = new URLSearchParams({ ...(query as Record<string, string>), cursor }).toString();
  return `<${next.href}>; rel="next"`;
}

import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type { LimitState, Principal, Verdict } from "@latchkey/auth/verdict";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { WorkspaceId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import type { Instance } from "../domain/instance.ts";
import type { Judged } from "./admit-first.ts";
import { answerJson } from "./answer-json.ts";
import { withinDeadline } from "./deadline.ts";
import { requireOneHost, unauthorized } from "./edge-rules.ts";
import type { Answer, Call, Endpoint, WorkspaceCall } from "./endpoint.ts";
import { etagOf, readIfMatch } from "./entity-tag.ts";
import { onceByName, readIdempotencyKey } from "./idempotency.ts";
import { maxBodyBytes, readJsonBody } from "./json-body.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import { Turns } from "./turns.ts";

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
  readonly recorder: UsageRecorder;
}

/**
 * Everything below `/open`, for requests that admission was asked about. Authentication comes first: without a good key,
 * nothing here tells anything apart.
 */
export function openApi({ instance, recorder }: OpenApiOptions): (ctx: Context) => Promise<void> {
  const turns = new Turns();
  return async (ctx) => {
    const { asked } = ctx;
    if (asked?.kind === "failed") throw asked.error;
    if (asked?.kind !== "judged") throw unauthorized();
    const { verdict, route, address, arrivedAt } = asked;
    recorder.record(verdict, {
      workspaceId: workspaceOf(asked),
      address,
      method: ctx.method,
      path: ctx.path,
      requestId: ctx.requestId,
    });
    if ("limit" in verdict) ctx.limit = verdict.limit;
    const { principal, access } = requireAdmitted(verdict);
    // What admission left of the time promised is the handler's. The caller's own time, to send a body, is not in it.
    const budgetMs = answerWithinMs - (performance.now() - arrivedAt);
    requireOneHost(ctx.req);
    refuseLargeBody(ctx);
    if (route instanceof AppError) throw route;
    const { endpoint, params } = route;
    const body = endpoint.request.body ? await readJsonBody(ctx) : undefined;
    const input = { params, query: ctx.querystring === "" ? noQuery : ctx.query, body };
    const deadline = performance.now() + budgetMs;
    const call = createCall(ctx, instance, endpoint, {
      principal,
      access,
      address,
      transact: (work) =>
        turns.take(principal.userId, deadline, () => instance.db.transaction().execute(work)),
    });
    const idempotencyKey = endpoint.method === "POST" ? readIdempotencyKey(ctx) : undefined;
    if (idempotencyKey !== undefined) {
      const name = {
        userId: principal.userId,
        method: endpoint.method,
        path: nameOf(endpoint, ctx.path, principal),
        key: idempotencyKey,
      };
      const running = onceByName(endpoint, { name, input, call });
      const { status, answer, isReplayed } = await withinDeadline(budgetMs, running);
      return await answerJson(ctx, status, answer, [
        ...describeAnswer(ctx, instance, endpoint, answer),
        ...(isReplayed ? ["Idempotent-Replayed", "true"] : []),
      ]);
    }
    const running = endpoint.run(input, call);
    const answer = running instanceof Promise ? await withinDeadline(budgetMs, running) : running;
    await answerJson(ctx, endpoint.response.status, answer, describeAnswer(ctx, instance, endpoint, answer));
  };
}

function workspaceOf({ route }: Judged): WorkspaceId | undefined {
  const demand = "demand" in route ? route.demand : undefined;
  return typeof demand === "object" ? demand.workspaceId : undefined;
}

/** Where the path means something else for each key, the key is part of what a client calls its request. */
function nameOf({ isAboutKey }: Endpoint, path: string, { keyId }: Principal): string {
  return isAboutKey ? `${path} ${keyId}` : path;
}

const noQuery = {};

function createCall(
  ctx: Context,
  instance: Instance,
  endpoint: Endpoint,
  asked: {
    readonly principal: Principal;
    readonly access: WorkspaceAccess | undefined;
    readonly address: string | undefined;
    readonly transact: Call["transact"];
  },
): Call & Partial<WorkspaceCall> {
  const { principal, access, address, transact } = asked;
  return {
    instance,
    principal,
    ...(access ? { access } : {}),
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
    ifMatch: endpoint.request.ifMatch ? readIfMatch(ctx) : undefined,
    transact,
  };
}

const headers = ["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];

/** The headers of an answer: name, value, name, value. */
function describeAnswer(
  ctx: Context,
  instance: Instance,
  { response }: Endpoint,
  answer: Answer,
): readonly string[] {
  const always = ctx.limit ? [...headers, ...rateLimitHeaders(ctx.limit)] : headers;
  const link = nextPageLink(ctx, instance, answer);
  if (link) return [...always, "Link", link];
  if (response.status !== 204 && response.hasEtag)
    return [...always, "ETag", etagOf(Number(answer?.version))];
  return always;
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
function nextPageLink(ctx: Context, instance: Instance, answer: Answer): string | undefined {
  if (typeof answer?.nextCursor !== "string") return undefined;
  const next = new URL(ctx.path, instance.baseUrl);
  next.search = new URLSearchParams({
    ...(ctx.query as Record<string, string>), // A list's own schema has refused what was sent twice.
    cursor: answer.nextCursor,
  }).toString();
  return `<${next.href}>; rel="next"`;
}

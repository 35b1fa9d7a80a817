import Router from "@koa/router";
import type { Admission } from "@latchkey/auth/admission";
import type { Principal, Verdict } from "@latchkey/auth/verdict";
import { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { Instance } from "../domain/instance.ts";
import { findAdmitted } from "./admit-early.ts";
import { answerJson } from "./answer-json.ts";
import { withinDeadline } from "./deadline.ts";
import type { Access, Endpoint } from "./endpoint.ts";
import { maxBodyBytes, readJsonBody } from "./json-body.ts";

declare module "koa" {
  interface ExtendableContext {
    /** On whose behalf the request acts; there for everything below `/open` once it was admitted. */
    principal: Principal;
    /** How long the handler may take, in milliseconds. */
    budgetMs: number;
  }
}

/** Callers were promised an answer within two seconds, also with the database away. */
const answerWithinMs = 1_800;

export interface OpenApiOptions {
  readonly instance: Instance;
  readonly admission: Admission;
  readonly endpoints: readonly Endpoint[];
}

/** Everything below `/open`. Authentication comes first: without a good key, nothing here tells anything apart. */
export function openApi(options: OpenApiOptions): Middleware {
  const findRoute = createRoutes(options.endpoints);
  return async (ctx, next) => {
    if (ctx.path !== "/open" && !ctx.path.startsWith("/open/")) return await next();
    const found = findAdmitted(options.admission, ctx.req);
    const admitted = found instanceof Promise ? await found : found;
    if (!admitted) throw unauthorized();
    ctx.principal = requireAdmitted(admitted.verdict);
    // What admission left of the time promised is the handler's. The caller's own time, to send a body, is not in it.
    ctx.budgetMs = answerWithinMs - admitted.tookMs;
    refuseLargeBody(ctx);
    const { endpoint, params } = findRoute(ctx.method, ctx.path);
    const body = endpoint.request.body ? await readJsonBody(ctx) : undefined;
    const input = { params, query: ctx.querystring === "" ? noQuery : ctx.query, body };
    const call = {
      instance: options.instance,
      principal: requireAccess(endpoint.access, ctx),
      now: new Date(),
    };
    const running = endpoint.run(input, call);
    const answer = running instanceof Promise ? await withinDeadline(ctx.budgetMs, running) : running;
    const link = nextPageLink(ctx, options.instance, answer);
    answerJson(ctx, endpoint.response.status, answer, link ? [...headers, "Link", link] : headers);
  };
}

const noQuery = {};

interface Route {
  readonly endpoint: Endpoint;
  readonly params: Record<string, string>;
}

/**
 * Finds what a method and a path mean.
 * @throws {AppError} NOT_FOUND, METHOD_NOT_SUPPORTED
 */
function createRoutes(endpoints: readonly Endpoint[]): (method: string, path: string) => Route {
  const router = new Router({ prefix: "/open", strict: true, sensitive: true });
  const endpointOf = new Map(
    endpoints.map((endpoint) => [router.register(endpoint.path, [endpoint.method], handledAbove), endpoint]),
  );
  // A path without parameters needs no pattern.
  const plain = new Map(
    endpoints
      .filter(({ path }) => !path.includes(":"))
      .map((endpoint): [string, Route] => [
        `${endpoint.method} /open${endpoint.path}`,
        { endpoint, params: {} },
      ]),
  );
  return (method, path) => {
    const found = plain.get(`${method} ${path}`);
    if (found) return found;
    const match = router.match(path, method);
    if (match.path.length === 0) throw new AppError("NOT_FOUND");
    const [layer] = match.pathAndMethod;
    const endpoint = layer && endpointOf.get(layer);
    if (endpoint) return { endpoint, params: layer.params(path, layer.captures(path)) };
    const allowed = [...new Set(match.path.flatMap(({ methods }) => methods))].sort().join(", ");
    throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: allowed } });
  };
}

const headers = ["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"];

const handledAbove: Middleware = async () => undefined;

function unauthorized(): AppError {
  return new AppError("UNAUTHORIZED", { headers: { "WWW-Authenticate": "Bearer" } });
}

/** Holds an endpoint's declaration against who calls. */
function requireAccess(access: Access, ctx: Context): Principal {
  switch (access) {
    case "key":
      return ctx.principal;
    default:
      return access satisfies never;
  }
}

/** Turns a verdict into a principal, or into the one failure that callers see for it. */
function requireAdmitted(verdict: Verdict): Principal {
  switch (verdict.kind) {
    case "admitted":
      return verdict.principal;
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
function nextPageLink(ctx: Context, instance: Instance, answer: Record<string, unknown>): string | undefined {
  if (typeof answer.nextCursor !== "string") return undefined;
  const next = new URL(ctx.path, instance.baseUrl);
  next.search = new URLSearchParams({
    ...(ctx.query as Record<string, string>),
    cursor: answer.nextCursor,
  }).toString();
  return `<${next.href}>; rel="next"`;
}

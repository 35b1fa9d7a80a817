import type { RequestListener, ServerResponse } from "node:http";
import type { Verdict } from "@latchkey/auth/verdict";
import { encodeId } from "@latchkey/db/ids";
import type { Logger } from "pino";
import { maxBatchCost } from "../procedures/batch-costs.ts";
import { router } from "../procedures/router.ts";
import { isOpenApiPath } from "./edge-rules.ts";
import type { FindRoute } from "./open-routes.ts";
import { readProcedureNames } from "./procedure-names.ts";
import { requestIdOf } from "./request-id.ts";
import type { AdmissionOutcome, ServeOpen } from "./request-listener.ts";
import { readPath } from "./request-path.ts";

/** Logs one line per request. Both functions wrap a handler, so that requests cost nothing extra without a log. */
export interface RequestLog {
  /** Logs every request to `/open` and `/trpc` when its response has been sent. */
  readonly wrapListener: (listener: RequestListener) => RequestListener;
  /** Adds the outcome of admission to the lines about requests to the open API. */
  readonly wrapOpenApi: (serve: ServeOpen) => ServeOpen;
}

/** The part of a line that comes from routing and admission. It contains no text that the caller chose. */
interface Description {
  /** A path of the OpenAPI document, or the tRPC procedures; null for a request that matches none. */
  readonly route: string | null;
  /** The key that was presented, whether or not it was admitted; null without a key. */
  readonly keyId: string | null;
  /** The workspace that an admitted request acts in. */
  readonly workspaceId?: string;
}

export function createRequestLog(log: Logger, findRoute: FindRoute): RequestLog {
  const descriptions = new WeakMap<ServerResponse, Description>();
  return {
    wrapOpenApi: (serve) => (ctx, outcome) => {
      const find = () => findRoute(ctx.method, readPath(ctx.req) ?? "");
      descriptions.set(ctx.res, describeOpen(outcome, find));
      return serve(ctx, outcome);
    },
    wrapListener: (listener) => (req, res) => {
      const path = readPath(req);
      if (path === undefined || !(isOpenApiPath(path) || isTrpc(path))) return listener(req, res);
      const startedAt = performance.now();
      const { method } = req;
      const requestId = requestIdOf(req);
      // Everything that calls requestIdOf() for this request later gets the same ID.
      req.headers["x-request-id"] = requestId;
      res.once("close", () => {
        const description = descriptions.get(res) ?? {
          route: isTrpc(path) ? toRoute(path) : null,
          keyId: null,
        };
        const status = res.headersSent ? res.statusCode : null;
        const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
        log.info({ method, ...description, status, durationMs, requestId }, "request");
      });
      listener(req, res);
    },
  };
}

function describeOpen(outcome: AdmissionOutcome, find: () => ReturnType<FindRoute>): Description {
  return outcome.kind === "decided" || outcome.kind === "verified"
    ? describeVerdict(outcome.route, outcome.verdict)
    : describeVerdict(find(), undefined);
}

function describeVerdict(route: ReturnType<FindRoute>, verdict: Verdict | undefined): Description {
  const presented = verdict && "presented" in verdict ? verdict.presented : undefined;
  const { scope } = (verdict?.kind === "admitted" && verdict.access) || {};
  return {
    route: "endpoint" in route ? `/open${route.endpoint.path}` : null,
    keyId: presented ? encodeId("key", presented.keyId) : null,
    ...(scope ? { workspaceId: encodeId("workspace", scope.workspaceId) } : {}),
  };
}

const mount = "/trpc/";
const procedures: ReadonlySet<string> = new Set(Object.keys(router._def.procedures));

function isTrpc(path: string): boolean {
  return path === "/trpc" || path.startsWith(mount);
}

/** The procedures of a request; `?` stands for a name that isn't one. At most as many as a batch can have. */
function toRoute(path: string): string | null {
  if (!path.startsWith(mount)) return null;
  const names = readProcedureNames(path.slice(mount.length)).slice(0, maxBatchCost);
  return mount + names.map((name) => (procedures.has(name) ? name : "?")).join(",");
}

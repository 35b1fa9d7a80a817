import type { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type { Verifier } from "@latchkey/auth/verifier";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { requestLimits } from "@latchkey/limits";
import { nodeHTTPRequestHandler } from "@trpc/server/adapters/node-http";
import compression from "compression";
import type { Middleware } from "koa";
import type { Services } from "../domain/services.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { batchCostOf, maxBatchCost } from "../procedures/batch-costs.ts";
import { router } from "../procedures/router.ts";
import { toFailure } from "../procedures/trpc.ts";
import { clientAddress } from "./client-address.ts";
import type { ExplainRequest } from "./explain-request.ts";
import { readText } from "./json-body.ts";
import { readProcedureNames } from "./procedure-names.ts";
import { requireSameOrigin } from "./same-site.ts";
import { toHeaders } from "./to-headers.ts";
import { createChangeSemaphore } from "./user-concurrency.ts";

type ConnectMiddleware = NonNullable<Parameters<typeof nodeHTTPRequestHandler>[0]["middleware"]>;

/**
 * Compresses the results of queries. A mutation's result may contain a secret next to text that the caller chose, and
 * its compressed length would reveal what the two have in common (BREACH).
 */
const compressQueries = compression({
  filter: ({ method }) => method === "GET",
}) as unknown as ConnectMiddleware; // The types of `compression` require Express, but the function doesn't.

const mount = "/trpc/";
const { maxBodyBytes } = requestLimits;

/**
 * Cleared at sign-out: local and session storage, service workers and databases of this origin. "cache" is left out,
 * because Chromium reads through its whole cache before it delivers the response, which takes seconds, and no answer
 * that a session protects is cached. "cookies" is left out, because it covers the whole registrable domain and would
 * sign the person out of other apps there.
 * @see https://www.w3.org/TR/clear-site-data/
 */
const siteDataToClear = '"storage"';

/**
 * Serves tRPC to the web app. Requests are authenticated by the session cookie only, must have the web app's origin
 * and a JSON body of at most {@link maxBodyBytes}, before and after decompression, and call procedures whose costs add up to at most
 * `maxBatchCost`.
 */
export function trpcMount({
  services,
  reads,
  inspectionDb,
  explain,
  verifier,
  recorder,
  events,
}: {
  readonly services: Services;
  /** Shared with everything else that reads in the web app. */
  readonly reads: FairSemaphore<string>;
  readonly inspectionDb: Db;
  readonly explain: ExplainRequest;
  readonly verifier: Pick<Verifier, "verifyWithoutKey">;
  readonly recorder: Pick<UsageRecorder, "recordVerifications">;
  readonly events: EventLog;
}): Middleware {
  // Each request looks up its session on a connection for writes. One connection is left to the lookups, so that they
  // don't wait behind long changes.
  const changes = createChangeSemaphore(Math.max(1, services.changeConnections - 1));
  return async (ctx, next) => {
    if (!ctx.path.startsWith(mount)) return await next();
    // tRPC answers HEAD with 204 before it looks for the procedure, so a proxy that authenticates requests with HEAD and a wrong path
    // would allow all of them.
    if (ctx.method !== "GET" && ctx.method !== "POST")
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, POST" } });
    requireSameOrigin(ctx.method, ctx.headers, services.baseUrl);
    // tRPC also accepts forms, which a page of another site can send without a CORS preflight.
    if (ctx.method === "POST" && ctx.request.type !== "application/json") {
      throw new AppError("UNSUPPORTED_MEDIA_TYPE");
    }
    if (Number(ctx.headers["content-length"] ?? 0) > maxBodyBytes) throw new AppError("PAYLOAD_TOO_LARGE");
    const path = ctx.path.slice(mount.length);
    requireBatchWithinCost(path);
    // tRPC would replace invalid UTF-8 by U+FFFD. It takes a text that it finds in `body` as the body.
    if (ctx.method === "POST") Object.assign(ctx.req, { body: await readText(ctx.req) });
    // With this header, tRPC streams its response: it sends the headers before a procedure can set a cookie.
    delete ctx.req.headers["trpc-accept"];
    // tRPC creates a `Request` from the target, which throws for an absolute URL with credentials.
    ctx.req.url = ctx.path + ctx.search;
    ctx.respond = false;
    ctx.res.statusCode = 200;
    ctx.res.setHeader("Cache-Control", "no-store");
    let isRejected = false;
    await nodeHTTPRequestHandler({
      router,
      req: ctx.req,
      res: ctx.res,
      path,
      maxBodySize: maxBodyBytes,
      maxBatchSize: maxBatchCost,
      middleware: compressQueries,
      createContext: () => ({
        services,
        changes,
        reads,
        inspectionDb,
        explain,
        verify: async (userId, verification) => {
          const outcome = await verifier.verifyWithoutKey(userId, verification);
          if (outcome?.kind === "verified")
            recorder.recordVerifications([verification], outcome.results, ctx.requestId);
          return outcome;
        },
        requestId: ctx.requestId,
        address: clientAddress(ctx.req, services.isTrustedProxy) ?? null,
        headers: toHeaders(ctx.headers),
        setCookies: (cookies) => {
          for (const cookie of cookies) ctx.res.appendHeader("Set-Cookie", cookie);
        },
        clearSiteData: () => ctx.res.setHeader("Clear-Site-Data", siteDataToClear),
      }),
      responseMeta: ({ errors }) => {
        const waits = errors.flatMap((error) => toFailure(error).retryAfterSeconds ?? []);
        return waits.length === 0 ? {} : { headers: { "Retry-After": String(Math.max(...waits)) } };
      },
      onError: ({ error, path }) => {
        const failure = toFailure(error);
        // A client that disconnects while it sends the body is not a failure of the server.
        if (failure.status < 500 || (ctx.req.destroyed && !ctx.req.complete)) return;
        if (failure.code === "SERVICE_UNAVAILABLE") {
          // The calls of one batch count as one rejected request.
          if (isRejected) return;
          isRejected = true;
        }
        events.reportRequest({
          source: "web app",
          error: failure,
          requestId: ctx.requestId,
          procedure: path,
        });
      },
    });
  };
}

/**
 * @param path the names of the procedures, separated by commas.
 * @throws {AppError} BAD_REQUEST for a batch whose calls cost too much.
 */
function requireBatchWithinCost(path: string): void {
  let cost = 0;
  for (const name of readProcedureNames(path)) cost += batchCostOf(name);
  if (cost <= maxBatchCost) return;
  const message = `These calls cost ${cost}, and a batch may cost ${maxBatchCost}. Send them in several requests.`;
  throw new AppError("BAD_REQUEST", { message });
}

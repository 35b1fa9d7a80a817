import type { RequestListener } from "node:http";
import type { Admission } from "@latchkey/auth/admission";
import type { UsageRecorder } from "@latchkey/auth/usage-recorder";
import type { Verifier } from "@latchkey/auth/verifier";
import type { Db } from "@latchkey/db/schema";
import Koa from "koa";
import type { Logger } from "pino";
import type { Services } from "./domain/services.ts";
import type { EventLog } from "./event-log/event-log.ts";
import { auditLogExport } from "./exports/audit-log-export.ts";
import { usageExport } from "./exports/usage-export.ts";
import { withCors } from "./http/cors.ts";
import { documentation } from "./http/documentation.ts";
import { edgeRules } from "./http/edge-rules.ts";
import type { Endpoint } from "./http/endpoint.ts";
import { createFailureAnswer, createKoaErrorListener, errorBoundary } from "./http/error-boundary.ts";
import { createExplainer } from "./http/explain-request.ts";
import { exportMount } from "./http/export-mount.ts";
import { health } from "./http/health.ts";
import { requireKnownHost } from "./http/known-host.ts";
import { openApi } from "./http/open-api.ts";
import { createExportSemaphore } from "./http/open-exports.ts";
import { createRoutes } from "./http/open-routes.ts";
import { assignRequestId, setRequestIdHeader } from "./http/request-id.ts";
import { createRequestListener, type ServeOpen } from "./http/request-listener.ts";
import { createRequestLog } from "./http/request-log.ts";
import { noSniff, securityHeaders } from "./http/security-headers.ts";
import { readStaticFiles } from "./http/static-files.ts";
import { trpcMount } from "./http/trpc-mount.ts";
import { createReadSemaphore } from "./http/user-concurrency.ts";
import { webApp } from "./http/web-app.ts";
import { renderErrorReference } from "./open/error-reference.ts";
import { createOpenApiDocument } from "./open/openapi-document.ts";
import type { Pools } from "./pools.ts";

export interface AppDependencies {
  readonly services: Services;
  /** Only for `/open`, so that the web app, however busy, takes no connections from the open API. */
  readonly openPools: Pools;
  readonly admission: Admission;
  readonly verifier: Verifier;
  /** A connection in the admission role, to inspect the keys of all tenants without counting uses. */
  readonly admissionDb: Db;
  readonly recorder: UsageRecorder;
  readonly endpoints: readonly Endpoint[];
  readonly log: Logger;
  readonly events: EventLog;
  /** Whether each request to the open API and to tRPC is logged. */
  readonly hasRequestLog: boolean;
  /** The origins whose pages may call the open API. */
  readonly corsOrigins: readonly string[];
  /** The directory of the built web app. */
  readonly webDirectory: string;
  /** Whether the process is shutting down. */
  readonly isDraining: () => boolean;
}

/**
 * Creates the handler of all requests. The open API bypasses Koa's middleware, which is listed in the order of
 * execution.
 */
export async function createApp(dependencies: AppDependencies): Promise<RequestListener> {
  const { services, openPools, admission, verifier, admissionDb, recorder, endpoints } = dependencies;
  const { log, events, hasRequestLog, corsOrigins, webDirectory, isDraining } = dependencies;
  const { isTrustedProxy } = services;
  const gate = { findRoute: createRoutes(endpoints), admission, verifier, isTrustedProxy };
  const app = new Koa();
  app.on("error", createKoaErrorListener(events, log));

  const answerFailure = createFailureAnswer(events, services.baseUrl);
  app.use(assignRequestId());
  app.use(errorBoundary(answerFailure));
  app.use(edgeRules());
  app.use(setRequestIdHeader());
  app.use(noSniff());
  app.use(health([admission, verifier], isDraining));
  app.use(securityHeaders(services.baseUrl));
  app.use(requireKnownHost(services.baseUrl));
  const reads = createReadSemaphore(services.readConnections);
  const explain = createExplainer(admissionDb, gate.findRoute);
  app.use(trpcMount({ services, reads, inspectionDb: admissionDb, explain, verifier, recorder, events }));
  const exports = createExportSemaphore();
  app.use(exportMount([auditLogExport, usageExport], { services, reads, exports }));
  const files = await readStaticFiles(webDirectory);
  const openApiDocument = createOpenApiDocument(endpoints, services.configuration);
  app.use(await documentation(files, { openApiDocument, errorReference: renderErrorReference() }));
  app.use(webApp(files));
  const open = openApi({ services: { ...services, ...openPools }, recorder, exports });
  const listen = (serve: ServeOpen): RequestListener =>
    withCors(corsOrigins, createRequestListener(gate, { open: serve, app, answerFailure }));
  if (!hasRequestLog) return listen(open);
  const requestLog = createRequestLog(log, gate.findRoute);
  return requestLog.wrapListener(listen(requestLog.wrapOpenApi(open)));
}

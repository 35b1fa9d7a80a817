import type { Admission } from "@latchkey/auth/admission";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";

/**
 * Serves `/healthz`, which is 200 while the process runs, and `/readyz`, which is 200 if the node can admit requests
 * and 503 if it can't.
 */
export function health(admission: Pick<Admission, "isAvailable">, isDraining: () => boolean): Middleware {
  // Concurrent probes share one query, because anyone can send them without a key.
  let currentQuery: Promise<boolean> | undefined;
  const isAvailable = (): Promise<boolean> => {
    currentQuery ??= admission.isAvailable().finally(() => {
      currentQuery = undefined;
    });
    return currentQuery;
  };
  return async (ctx, next) => {
    if (!["/healthz", "/readyz"].includes(ctx.path)) return await next();
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    if (ctx.path === "/healthz") {
      respond(ctx, 200, "ok");
    } else {
      const isReady = !isDraining() && (await isAvailable());
      respond(ctx, isReady ? 200 : 503, isReady ? "ready" : "unavailable");
    }
  };
}

function respond(ctx: Parameters<Middleware>[0], status: 200 | 503, text: string): void {
  ctx.status = status;
  ctx.set("Cache-Control", "no-store");
  ctx.body = { status: text };
}

import type { Admission } from "@latchkey/auth/admission";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";

/** `/healthz` says that the process lives; `/readyz` that it can admit requests: 200 or 503. */
export function health(admission: Pick<Admission, "isAvailable">, isDraining: () => boolean): Middleware {
  // Concurrent probes share one query, because anyone can send them without a key.
  let asking: Promise<boolean> | undefined;
  const isAvailable = (): Promise<boolean> => {
    asking ??= admission.isAvailable().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  return async (ctx, next) => {
    if (!["/healthz", "/readyz"].includes(ctx.path)) return await next();
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    if (ctx.path === "/healthz") {
      answer(ctx, 200, "ok");
    } else {
      const isReady = !isDraining() && (await isAvailable());
      answer(ctx, isReady ? 200 : 503, isReady ? "ready" : "unavailable");
    }
  };
}

function answer(ctx: Parameters<Middleware>[0], status: 200 | 503, text: string): void {
  ctx.status = status;
  ctx.set("Cache-Control", "no-store");
  ctx.body = { status: text };
}

import type { Admission } from "@latchkey/auth/admission";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";

/** Decides requests with keys on its own connection, which can fail while others work. */
type KeyChecker = Pick<Admission, "isAvailable">;

/**
 * Serves `/healthz`, which is 200 while the process runs, and `/readyz`, which is 200 if all checkers are
 * available and the node isn't draining, and 503 otherwise.
 */
export function health(checkers: readonly KeyChecker[], isDraining: () => boolean): Middleware {
  // Concurrent probes share the queries, because anyone can send them without a key.
  let currentQueries: Promise<boolean> | undefined;
  const isAvailable = (): Promise<boolean> => {
    currentQueries ??= areAvailable(checkers).finally(() => {
      currentQueries = undefined;
    });
    return currentQueries;
  };
  return async (ctx, next) => {
    if (!["/healthz", "/readyz"].includes(ctx.path)) return await next();
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    if (ctx.path === "/healthz") {
      respond(ctx, 200, "ok");
    } else {
      // Draining can also begin during the queries.
      const isReady = !isDraining() && (await isAvailable()) && !isDraining();
      respond(ctx, isReady ? 200 : 503, isReady ? "ready" : "unavailable");
    }
  };
}

async function areAvailable(checkers: readonly KeyChecker[]): Promise<boolean> {
  const answers = await Promise.all(checkers.map((checker) => checker.isAvailable()));
  return answers.every(Boolean);
}

function respond(ctx: Parameters<Middleware>[0], status: 200 | 503, text: string): void {
  ctx.status = status;
  ctx.set("Cache-Control", "no-store");
  ctx.body = { status: text };
}

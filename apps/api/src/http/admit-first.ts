import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Admission } from "@latchkey/auth/admission";
import type { Verdict } from "@latchkey/auth/verdict";
import type { AppError } from "@latchkey/errors";
import type Koa from "koa";
import type { Context } from "koa";
import { readBearerToken } from "./bearer-token.ts";
import { clientAddress } from "./client-address.ts";
import { isOpen } from "./edge-rules.ts";
import type { FindRoute, Route } from "./open-routes.ts";

/** A request that has a verdict, good or bad. */
export interface Judged {
  readonly kind: "judged";
  /** What the request asks for, which admission has judged it by; a failure where that is nothing. */
  readonly route: Route | AppError;
  readonly verdict: Verdict;
  /** Where it comes from. */
  readonly address: string | undefined;
  /** When the first request of its turn of the event loop came, by `performance.now()`. */
  readonly arrivedAt: number;
}

/** What came of asking admission about a request. That it failed is a bug. */
export type Asked =
  | Judged
  | { readonly kind: "no-key" }
  | { readonly kind: "failed"; readonly error: unknown };

/** What decides whether a request is let in: what it asks for, and whether its key may. */
export interface Gate {
  readonly findRoute: FindRoute;
  readonly admission: Admission;
  /** Whose `X-Forwarded-For` is believed. */
  readonly isTrustedProxy: (address: string) => boolean;
}

declare module "koa" {
  interface ExtendableContext {
    /** Of a request to the open API. */
    asked?: Asked | undefined;
  }
}

/**
 * Serves the open API by one handler, and all else by the app. How it is done is a matter of speed alone
 * (docs/decisions/0008):
 *
 * Requests to the open API are admitted before anything is made for them. Hundreds wait for admission at once, and
 * whatever was made for one before it waits has left the processor's cache when its turn comes. For the same reason
 * those that come in one turn of the event loop are taken to admission one right after the other, when all have
 * been read.
 *
 * The handler writes its answers itself. So it is spared Koa's own end, which hangs listeners on each response and on
 * its socket to learn of callers who leave.
 */
export function admitFirst(gate: Gate, open: (ctx: Context) => Promise<void>, app: Koa): RequestListener {
  const others = app.callback();
  let arrivals: Arrival[] = [];
  let arrivedAt = 0;
  const admitArrivals = (): void => {
    const together = arrivals;
    arrivals = [];
    for (const arrival of together) {
      const serve = (asked: Asked): void => {
        const ctx = app.createContext(arrival.req, arrival.res);
        ctx.asked = asked;
        open(ctx).catch((error: Error) => ctx.onerror(error));
      };
      ask(gate, arrival, arrivedAt).then(serve, (error: unknown) => serve({ kind: "failed", error }));
    }
  };
  return (req, res) => {
    const path = openPath(app, req, res);
    if (path === undefined) return others(req, res);
    if (arrivals.length === 0) {
      arrivedAt = performance.now();
      setImmediate(admitArrivals);
    }
    // Node keeps it when it is first asked for, and cannot tell it of a connection that has ended meanwhile.
    void req.socket.remoteAddress;
    arrivals.push({ req, res, path });
  };
}

/** A request that came in this turn of the event loop. */
interface Arrival {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** What admission judges by. */
  readonly path: string;
}

/** The path of a request to the open API, undefined for any other. */
function openPath(app: Koa, req: IncomingMessage, res: ServerResponse): string | undefined {
  const url = req.url ?? "";
  if (url.startsWith("/open/")) {
    const query = url.indexOf("?");
    return query === -1 ? url : url.slice(0, query);
  }
  if (!url.includes("open")) return undefined;
  // Without more path, with the whole address as to a proxy, or with what Koa reads in its own way: it has the last word.
  try {
    const { path } = app.createContext(req, res);
    return isOpen(path) ? path : undefined;
  } catch {
    return undefined; // The app has an answer to what is no address.
  }
}

async function ask(
  { findRoute, admission, isTrustedProxy }: Gate,
  { req, path }: Arrival,
  arrivedAt: number,
): Promise<Asked> {
  const token = readBearerToken(req.rawHeaders);
  if (token === undefined) return { kind: "no-key" };
  const route = findRoute(req.method ?? "GET", path);
  const address = clientAddress(req, isTrustedProxy);
  const verdict = await admission.admit(token, "demand" in route ? route.demand : undefined, address);
  return { kind: "judged", route, verdict, address, arrivedAt };
}

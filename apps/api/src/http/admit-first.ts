import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Admission } from "@latchkey/auth/admission";
import type { Verdict } from "@latchkey/auth/verdict";
import type { AppError } from "@latchkey/errors";
import type Koa from "koa";
import type { Context } from "koa";
import { andThen } from "./and-then.ts";
import { createBatcher } from "./batcher.ts";
import { readBearerToken } from "./bearer-token.ts";
import { clientAddress } from "./client-address.ts";
import { isOpen } from "./edge-rules.ts";
import type { AnswerFailure } from "./error-boundary.ts";
import type { FindRoute, Route } from "./open-routes.ts";
import { type Reply, writeReply } from "./reply.ts";
import { requestIdOf } from "./request-id.ts";
import { readPath } from "./request-path.ts";

/** A request that has a verdict, good or bad. */
export interface Judged {
  readonly kind: "judged";
  /** What the request asks for, which admission has judged it by; a failure where that is nothing. */
  readonly route: Route | AppError;
  readonly verdict: Verdict;
  /** Without the query, as admission read it. */
  readonly path: string;
  /** Where it comes from. */
  readonly address: string | undefined;
  /** When its head had been read, by `performance.now()`. */
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
  readonly admission: Pick<Admission, "admit">;
  /** Whose `X-Forwarded-For` is believed. */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** Serves one request to the open API, at once where it waits for nobody. What it throws is answered for it. */
export type ServeOpen = (ctx: Context, asked: Asked) => Reply | Promise<Reply>;

/** Who answers what. */
export interface Responders {
  readonly open: ServeOpen;
  /** Answers all that is not the open API's. */
  readonly app: Koa;
  readonly answerFailure: AnswerFailure;
}

/**
 * Serves the open API by one function, and all else by the app. How it is done is a matter of speed alone
 * (docs/decisions/0008):
 *
 * Requests to the open API are admitted before anything is made for them. Hundreds wait for admission at once, and
 * whatever was made for one before it waits has left the processor's cache when its turn comes. For the same reason
 * they go step by step, not one by one: those that come in one turn of the event loop are taken to admission together,
 * when all have been read, and the replies to those that one batch has let in are written together, when all are made
 * that wait for nobody. Failures are answered as they come.
 *
 * Replies are written past Koa's own end, which hangs listeners on each response and on its socket to learn of callers
 * who leave.
 */
export function admitFirst(gate: Gate, { open, app, answerFailure }: Responders): RequestListener {
  const others = app.callback();
  const write = createBatcher<Written>(queueMicrotask, ({ ctx, reply }) => {
    try {
      writeReply(ctx.res, reply);
    } catch (thrown) {
      answerFailure(ctx, thrown);
    }
  });
  const serve = ({ req, res }: Arrival, asked: Asked): void => {
    const ctx = app.createContext(req, res);
    ctx.requestId = requestIdOf(req);
    const fail = (thrown: unknown): void => answerFailure(ctx, thrown);
    try {
      const served = andThen(open(ctx, asked), (reply) => write({ ctx, reply }));
      if (served instanceof Promise) served.catch(fail);
    } catch (thrown) {
      fail(thrown);
    }
  };
  const admit = createBatcher<Arrival>(setImmediate, (arrival) =>
    ask(gate, arrival, (asked) => serve(arrival, asked)),
  );
  return (req, res) => {
    const path = readPath(req);
    if (path === undefined || !isOpen(path)) return others(req, res);
    // Node keeps it when it is first asked for, and cannot tell it of a connection that has ended meanwhile.
    void req.socket.remoteAddress;
    admit({ req, res, path, arrivedAt: performance.now() });
  };
}

/** A request to the open API that has been read. */
interface Arrival {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** What admission judges by. */
  readonly path: string;
  readonly arrivedAt: number;
}

/** What is to be written where. */
interface Written {
  readonly ctx: Context;
  readonly reply: Reply;
}

/** Asks admission, and tells what came of it, once. It throws nothing. */
function ask(
  { findRoute, admission, isTrustedProxy }: Gate,
  { req, path, arrivedAt }: Arrival,
  tell: (asked: Asked) => void,
): void {
  const fail = (error: unknown): void => tell({ kind: "failed", error });
  try {
    const token = readBearerToken(req.rawHeaders);
    if (token === undefined) {
      tell({ kind: "no-key" });
      return;
    }
    const route = findRoute(req.method ?? "GET", path);
    const address = clientAddress(req, isTrustedProxy);
    admission
      .admit(token, "requirement" in route ? route.requirement : undefined, address)
      .then((verdict) => tell({ kind: "judged", route, path, verdict, address, arrivedAt }), fail);
  } catch (error) {
    fail(error);
  }
}

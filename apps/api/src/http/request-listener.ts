import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Verdict } from "@latchkey/auth/verdict";
import type { VerifierAnswer } from "@latchkey/auth/verifier-answer";
import type { AppError } from "@latchkey/errors";
import type Koa from "koa";
import type { Context } from "koa";
import { andThen } from "./and-then.ts";
import { createBatcher } from "./batcher.ts";
import { readBearerToken } from "./bearer-token.ts";
import { clientAddress } from "./client-address.ts";
import { isOpenApiPath } from "./edge-rules.ts";
import type { AnswerFailure } from "./error-boundary.ts";
import type { FindRoute, Route } from "./open-routes.ts";
import { type Reply, writeReply } from "./reply.ts";
import { requestIdOf } from "./request-id.ts";
import { readPath } from "./request-path.ts";
import { type ParsedVerification, type VerificationGate, verifyRequest } from "./verify-request.ts";

/** A request with a verdict. */
export interface DecidedRequest {
  readonly kind: "decided";
  /** The route of the request, whose requirement admission checked; an error if no route matches. */
  readonly route: Route | AppError;
  readonly verdict: Verdict;
  /** The path without the query, as admission read it. */
  readonly path: string;
  /** The client's IP address. */
  readonly address: string | undefined;
  /** When its headers had been read, by `performance.now()`. */
  readonly arrivedAt: number;
}

/** A request that verifies keys, after its transaction. */
export interface VerifiedRequest extends Omit<DecidedRequest, "kind" | "route">, VerifierAnswer {
  readonly kind: "verified";
  readonly route: Route;
  /** The parsed request; the error of an invalid one; undefined if the body was not read, because the key was not recognized. */
  readonly request: ParsedVerification | AppError | undefined;
}

/** The outcome of admission. `failed` means a bug in Latchkey. */
export type AdmissionOutcome =
  | DecidedRequest
  | VerifiedRequest
  | { readonly kind: "no-key" }
  | { readonly kind: "failed"; readonly error: unknown };

/** What admission of a request needs. */
export interface AdmissionGate extends VerificationGate {
  readonly findRoute: FindRoute;
  /** Whether the `X-Forwarded-For` header of this IP address is trusted. */
  readonly isTrustedProxy: (ipAddress: string) => boolean;
}

/**
 * Handles one request to the open API, synchronously if it needs no I/O. Errors that it throws become error
 * responses.
 */
export type ServeOpen = (ctx: Context, outcome: AdmissionOutcome) => Reply | Promise<Reply>;

/** The handlers of requests. */
export interface RequestHandlers {
  readonly open: ServeOpen;
  /** Handles all other requests. */
  readonly app: Koa;
  readonly answerFailure: AnswerFailure;
}

/**
 * Handles the open API by one function, and all other requests by the app. This exists for speed only
 * (docs/decisions/0008):
 *
 * - Requests to the open API are admitted before their context is created. Hundreds wait for admission at the same
 * time, and objects created before the wait would have left the processor's cache after it.
 * - For the same reason, each step runs for many requests in a row: all requests of one turn of the event loop are
 *   admitted after all have been read, and the responses of one batch are written after all of its synchronous handlers
 *   have run. Errors are answered immediately.
 * - Responses bypass Koa's `respond`, which adds listeners to each response and its socket to detect clients that
 * disconnect.
 */
export function createRequestListener(
  gate: AdmissionGate,
  { open, app, answerFailure }: RequestHandlers,
): RequestListener {
  const handleOther = app.callback();
  const write = createBatcher<Written>(queueMicrotask, ({ ctx, reply }) => {
    try {
      writeReply(ctx.res, reply)?.catch((thrown: unknown) => answerFailure(ctx, thrown));
    } catch (thrown) {
      answerFailure(ctx, thrown);
    }
  });
  const serve = ({ req, res }: Arrival, outcome: AdmissionOutcome): void => {
    const ctx = app.createContext(req, res);
    ctx.requestId = requestIdOf(req);
    const fail = (thrown: unknown): void => answerFailure(ctx, thrown);
    try {
      const served = andThen(open(ctx, outcome), (reply) => write({ ctx, reply }));
      if (served instanceof Promise) served.catch(fail);
    } catch (thrown) {
      fail(thrown);
    }
  };
  const admit = createBatcher<Arrival>(setImmediate, (arrival) =>
    admitRequest(gate, arrival, (outcome) => serve(arrival, outcome)),
  );
  return (req, res) => {
    const path = readPath(req);
    if (path === undefined || !isOpenApiPath(path)) return handleInTurn(req, res, handleOther);
    // Node caches the IP address on first access, and cannot determine it after the connection has ended.
    void req.socket.remoteAddress;
    admit({ req, res, path, arrivedAt: performance.now() });
  };
}

/**
 * Handles a request when the earlier responses of its connection have left this process. So a connection has at most one response of the
 * web app in memory, even if a stream compresses it, whose input isn't counted.
 */
function handleInTurn(req: IncomingMessage, res: ServerResponse, handle: RequestListener): void {
  // Node assigns the socket to a response as soon as no earlier one is pending.
  if (res.socket) {
    handle(req, res);
    return;
  }
  res.once("socket", () => {
    // Not within the event, after which Node writes what the response has collected so far.
    process.nextTick(() => {
      if (req.socket.writable) handle(req, res);
    });
  });
}

/** A request to the open API whose headers have been read. */
interface Arrival {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The path without the query. */
  readonly path: string;
  readonly arrivedAt: number;
}

/** A response to write. */
interface Written {
  readonly ctx: Context;
  readonly reply: Reply;
}

/** Admits a request, and calls `onOutcome` exactly once. Never throws. */
function admitRequest(
  { findRoute, admission, verifier, isTrustedProxy }: AdmissionGate,
  { req, path, arrivedAt }: Arrival,
  onOutcome: (outcome: AdmissionOutcome) => void,
): void {
  const fail = (error: unknown): void => onOutcome({ kind: "failed", error });
  try {
    const token = readBearerToken(req.rawHeaders);
    if (token === undefined) {
      onOutcome({ kind: "no-key" });
      return;
    }
    const route = findRoute(req.method ?? "GET", path);
    const address = clientAddress(req, isTrustedProxy);
    if ("endpoint" in route && route.endpoint.verifies) {
      verifyRequest({ admission, verifier }, { req, token, route, path, address }).then(
        (verified) => onOutcome({ kind: "verified", route, path, address, arrivedAt, ...verified }),
        fail,
      );
      return;
    }
    admission
      .admit(token, "requirement" in route ? route.requirement : undefined, address)
      .then((verdict) => onOutcome({ kind: "decided", route, path, verdict, address, arrivedAt }), fail);
  } catch (error) {
    fail(error);
  }
}

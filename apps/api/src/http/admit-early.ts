import type { IncomingMessage, RequestListener } from "node:http";
import type { Admission } from "@latchkey/auth/admission";
import type { Verdict } from "@latchkey/auth/verdict";
import type { AppError } from "@latchkey/errors";
import { readBearerToken } from "./bearer-token.ts";
import { clientAddress } from "./client-address.ts";
import type { FindRoute, Route } from "./open-routes.ts";

/** What admission said of a request. */
export interface Admitted {
  /** What the request asks for, which admission has judged it by; a failure where that is nothing. */
  readonly route: Route | AppError;
  readonly verdict: Verdict;
  /** Where it comes from. */
  readonly address: string | undefined;
  /** How long admission took, in milliseconds. */
  readonly tookMs: number;
}

/** What decides whether a request is let in: what it asks for, and whether its key may. */
export interface Gate {
  readonly findRoute: FindRoute;
  readonly admission: Admission;
  /** Whose `X-Forwarded-For` is believed. */
  readonly isTrustedProxy: (address: string) => boolean;
}

const early = Symbol("what admission said");

declare module "node:http" {
  interface IncomingMessage {
    [early]?: Admitted | undefined;
  }
}

/**
 * Has requests to the open API admitted before the app makes anything for them. Hundreds wait for admission at once,
 * and whatever was made for one before it waits has left the processor's cache when its turn comes
 * (docs/decisions/0008). This is about when alone: the app asks {@link findAdmitted}, with or without it.
 */
export function admitEarly(gate: Gate, app: RequestListener): RequestListener {
  return (req, res) => {
    const { url } = req;
    if (!url?.startsWith("/open/")) return app(req, res);
    const query = url.indexOf("?");
    ask(gate, req, query === -1 ? url : url.slice(0, query))
      .then(
        (admitted) => {
          req[early] = admitted;
        },
        // A bug: the app will ask again, and has words for it.
        () => undefined,
      )
      .then(() => app(req, res));
  };
}

/** What admission says of a request to this path, undefined for one without a key. No request is admitted twice. */
export function findAdmitted(
  gate: Gate,
  req: IncomingMessage,
  path: string,
): Admitted | Promise<Admitted | undefined> {
  return req[early] ?? ask(gate, req, path);
}

async function ask(
  { findRoute, admission, isTrustedProxy }: Gate,
  req: IncomingMessage,
  path: string,
): Promise<Admitted | undefined> {
  const token = readBearerToken(req.rawHeaders);
  if (token === undefined) return undefined;
  const route = findRoute(req.method ?? "GET", path);
  const address = clientAddress(req, isTrustedProxy);
  const startedAt = performance.now();
  const verdict = await admission.admit(token, "demand" in route ? route.demand : undefined, address);
  return { route, verdict, address, tookMs: performance.now() - startedAt };
}

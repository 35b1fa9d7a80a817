import type { IncomingMessage, RequestListener } from "node:http";
import type { Admission } from "@latchkey/auth/admission";
import type { Verdict } from "@latchkey/auth/verdict";
import { readBearerToken } from "./bearer-token.ts";

/** What admission said of a request, and how long it took, in milliseconds. */
export interface Admitted {
  readonly verdict: Verdict;
  readonly tookMs: number;
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
export function admitEarly(admission: Admission, app: RequestListener): RequestListener {
  return (req, res) => {
    if (!req.url?.startsWith("/open/")) return app(req, res);
    ask(admission, req).then((admitted) => {
      req[early] = admitted;
      app(req, res);
    });
  };
}

/** What admission says of a request, undefined for one without a key. No request is admitted twice. */
export function findAdmitted(
  admission: Admission,
  req: IncomingMessage,
): Admitted | Promise<Admitted | undefined> {
  return req[early] ?? ask(admission, req);
}

async function ask(admission: Admission, req: IncomingMessage): Promise<Admitted | undefined> {
  const token = readBearerToken(req.rawHeaders);
  if (token === undefined) return undefined;
  const startedAt = performance.now();
  const verdict = await admission.admit(token);
  return { verdict, tookMs: performance.now() - startedAt };
}

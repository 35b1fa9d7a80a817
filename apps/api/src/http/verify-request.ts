import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Admission } from "@latchkey/auth/admission";
import type { VerificationRequest } from "@latchkey/auth/verification";
import type { Verifier } from "@latchkey/auth/verifier";
import type { VerifierAnswer } from "@latchkey/auth/verifier-answer";
import { AppError } from "@latchkey/errors";
import { andThen } from "./and-then.ts";
import { requireOneHost } from "./edge-rules.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { hasBody, readJsonBody, rejectLargeBody } from "./json-body.ts";
import type { Route } from "./open-routes.ts";
import { parseQuery } from "./query.ts";

/** A valid request that verifies keys. */
export type ParsedVerification = Omit<VerificationRequest, "address">;

/** What admits requests that verify keys. */
export interface VerificationGate {
  readonly admission: Pick<Admission, "admit">;
  readonly verifier: Pick<Verifier, "recognize" | "verify">;
}

/** A request to an endpoint that verifies keys. */
interface VerificationCall {
  readonly req: IncomingMessage;
  readonly token: string;
  readonly route: Route;
  readonly path: string;
  readonly address: string | undefined;
}

/**
 * Reads a request, admits it, and verifies its keys in the same transaction. Authentication comes first: the body of an unknown
 * caller is not read, and an invalid request gets its error only if its key is valid. The lookup of the caller's key and what follows
 * have one deadline together, which doesn't include the time until the body has arrived.
 */
export async function verifyRequest(
  { admission, verifier }: VerificationGate,
  { req, token, route, path, address }: VerificationCall,
): Promise<VerifierAnswer & { readonly request: ParsedVerification | AppError | undefined }> {
  // Waits only if it has to: a request that has arrived completely gets into the next batch without a turn of the microtask queue.
  const recognition = verifier.recognize(token);
  const lookedUpAt = performance.now();
  const rejection = recognition instanceof Promise ? await recognition : recognition;
  if (rejection) return { ...rejection, request: undefined };
  const lookupMs = recognition ? performance.now() - lookedUpAt : 0;
  const parsed = parseRequest(req, route, path);
  const request = parsed instanceof Promise ? await parsed : parsed;
  const arrivedAt = performance.now() - lookupMs;
  if (request instanceof AppError) {
    const verdict = await admission.admit(token, undefined, address, arrivedAt);
    return { verdict, outcome: undefined, request };
  }
  const { verdict, outcome } = await verifier.verify(token, { ...request, address }, arrivedAt);
  return { verdict, outcome, request };
}

/** Reads and parses a request. Returns the error of an invalid one, which is thrown only after admission. */
function parseRequest(
  req: IncomingMessage,
  { endpoint: { verifies }, params }: Route,
  path: string,
): ParsedVerification | AppError | Promise<ParsedVerification | AppError> {
  if (!verifies) throw new Error("This endpoint verifies no keys.");
  try {
    requireOneHost(req);
    rejectLargeBody(req);
    const query = parseQuery(req.url ?? "");
    const key = readIdempotencyKey(req);
    const parsed = andThen(hasBody(req) ? readJsonBody(req) : {}, (body) => ({
      verifications: verifies.parse({ params, query, body }),
      name: key === undefined ? undefined : nameOf(req, { path, key, body }),
    }));
    return parsed instanceof Promise ? parsed.catch(toAppError) : parsed;
  } catch (error) {
    return toAppError(error);
  }
}

/** @throws an error that is a bug. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

function nameOf(
  { method = "" }: IncomingMessage,
  { path, key, body }: { readonly path: string; readonly key: string; readonly body: object },
): ParsedVerification["name"] {
  return {
    method,
    path,
    // A client can use the key that it verifies as the name, so the name is never stored as it is.
    key: `sha256:${hash("sha256", key)}`,
    requestHash: hash("sha256", JSON.stringify(body), "buffer"),
  };
}

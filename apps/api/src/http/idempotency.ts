import { createHash } from "node:crypto";
import {
  claimIdempotencyName,
  findIdempotencyRecord,
  type IdempotencyName,
  insertIdempotencyRecord,
} from "@latchkey/db/idempotency-records";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import type { Answer, AnyCall, Endpoint } from "./endpoint.ts";
import type { RawInput } from "./parse-input.ts";

const keyForm = /^[\x21-\x7E]{1,255}$/;

/** What a client calls its request. @throws {AppError} BAD_REQUEST unless it is 1 to 255 visible ASCII characters. */
export function readIdempotencyKey(ctx: Context): string | undefined {
  const value = ctx.req.headers["idempotency-key"];
  if (value === undefined) return undefined;
  if (typeof value === "string" && keyForm.test(value)) return value;
  const message = "must be 1 to 255 visible ASCII characters";
  throw new AppError("BAD_REQUEST", {
    issues: [{ path: "Idempotency-Key", code: "invalid_format", message }],
  });
}

/** What came of a request that was carried out. */
export interface CarriedOut {
  readonly status: number;
  readonly answer: Answer;
  /** Whether the answer is that of an earlier request of the same name. */
  readonly isReplayed: boolean;
}

interface NamedRequest {
  readonly name: IdempotencyName;
  readonly input: RawInput;
  readonly call: AnyCall;
}

/**
 * Carries a request out once, however often it comes. What it changes and how it was answered are one transaction, so
 * that no crash comes between them. One that was answered with a failure of its own has left nothing; one that was
 * answered 503, or not at all, has either left nothing or is recorded. Both can be sent again (docs/decisions/0011).
 *
 * @throws {AppError} CONFLICT while the first one is still under way, UNPROCESSABLE_CONTENT when the name was given to
 *   another request before, and what the endpoint throws.
 */
export async function onceByName(
  endpoint: Endpoint,
  { name, input, call }: NamedRequest,
): Promise<CarriedOut> {
  const requestHash = createHash("sha256")
    .update(JSON.stringify(input.body ?? null))
    .digest();
  return await call.transact(async (trx) => {
    if (!(await claimIdempotencyName(trx, name))) {
      throw new AppError("CONFLICT", {
        message: "A request with this Idempotency-Key is still under way",
        retryAfterSeconds: 1,
      });
    }
    await endpoint.authorise?.(input, call, trx);
    const record = await findIdempotencyRecord(trx, name);
    if (record && !record.requestHash.equals(requestHash)) {
      throw new AppError("UNPROCESSABLE_CONTENT", {
        message: "This Idempotency-Key was used for another request",
      });
    }
    if (record) return { status: record.status, answer: record.answer ?? undefined, isReplayed: true };
    const answer = await endpoint.run(input, { ...call, transact: (work) => work(trx) });
    const { status } = endpoint.response;
    await insertIdempotencyRecord(trx, name, {
      requestHash,
      status,
      answer: withoutSecret(endpoint, answer),
    });
    return { status, answer, isReplayed: false };
  });
}

function withoutSecret({ response }: Endpoint, answer: Answer): Record<string, unknown> | null {
  if (response.status === 204 || !answer) return null;
  const kept = { ...answer };
  if (response.secret) delete kept[response.secret];
  return kept;
}

import { createHash } from "node:crypto";
import { digestKey } from "@latchkey/auth/key-format";
import { redactKeys } from "@latchkey/auth/redact-keys";
import {
  claimIdempotencyName,
  findIdempotencyRecord,
  type IdempotencyName,
  type IdempotencyRecord,
  insertIdempotencyRecord,
  updateIssuedSecret,
} from "@latchkey/db/idempotency-records";
import type { Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import type { Context } from "koa";
import type { Answer, AnyCall, Endpoint } from "./endpoint.ts";
import type { RawInput } from "./parse-input.ts";

const keyForm = /^[\x21-\x7E]{1,255}$/;

/** What a client calls its request. @throws {AppError} BAD_REQUEST unless it is 1 to 255 visible ASCII characters. */
export function readIdempotencyKey(ctx: Context): string | undefined {
  const value = ctx.req.headers["idempotency-key"];
  if (value === undefined) return undefined;
  if (typeof value === "string" && keyForm.test(value)) return withoutApiKey(value);
  const message = "must be 1 to 255 visible ASCII characters";
  throw new AppError("BAD_REQUEST", {
    issues: [{ path: "Idempotency-Key", code: "invalid_format", message }],
  });
}

/**
 * A value that contains an API key is recorded by its SHA-256. Replacing the key alone would make one of the values of
 * two requests with different keys in them.
 */
function withoutApiKey(value: string): string {
  if (redactKeys(value) === value) return value;
  return `sha256:${createHash("sha256").update(value).digest("hex")}`;
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
  const presentedHash = Buffer.from(call.principal.digest, "base64");
  return await call.transact(async (trx) => {
    if (!(await claimIdempotencyName(trx, name))) {
      throw new AppError("CONFLICT", {
        message: "A request with this Idempotency-Key is still under way",
        retryAfterSeconds: 1,
      });
    }
    const record = await findIdempotencyRecord(trx, name);
    const isRetry = record?.requestHash.equals(requestHash) === true;
    const isOwnRetry = isRetry && record.presentedHash?.equals(presentedHash) === true;
    const ownCall = { ...call, isOwnRetry };
    await endpoint.authorise?.(input, ownCall, trx);
    if (record && !isRetry) {
      throw new AppError("UNPROCESSABLE_CONTENT", {
        message: "This Idempotency-Key was used for another request",
      });
    }
    if (record) return await replay(endpoint, record, { name, input, call: ownCall, trx });
    const answer = await endpoint.run(input, { ...call, transact: (work) => work(trx) });
    const { status } = endpoint.response;
    const kept = { requestHash, presentedHash, status, ...separateSecret(endpoint, answer) };
    await insertIdempotencyRecord(trx, name, kept);
    return { status, answer, isReplayed: false };
  });
}

/** Answers a repeated request as the first time. Of a secret nothing is kept but its digest: it is issued anew, or omitted. */
async function replay(
  { secret }: Endpoint,
  { status, answer, issuedHash }: IdempotencyRecord,
  { name, input, call, trx }: NamedRequest & { readonly trx: Trx },
): Promise<CarriedOut> {
  if (!secret || !answer) return { status, answer: answer ?? undefined, isReplayed: true };
  const reissued = issuedHash && (await secret.reissue(input, call, { trx, hash: issuedHash }));
  if (!reissued) return { status, answer: { ...answer, secretStatus: "omitted" }, isReplayed: true };
  await updateIssuedSecret(trx, name, digestOf(reissued));
  const added = { [secret.member]: reissued, secretStatus: "reissued" };
  return { status, answer: { ...answer, ...added }, isReplayed: true };
}

/** What is kept of an answer: all of it but its secret, and the digest of that. */
function separateSecret(
  { response, secret }: Endpoint,
  answer: Answer,
): Pick<IdempotencyRecord, "answer" | "issuedHash"> {
  if (response.status === 204 || !answer) return { answer: null, issuedHash: null };
  if (!secret) return { answer, issuedHash: null };
  const { [secret.member]: issued, ...kept } = answer;
  return { answer: kept, issuedHash: typeof issued === "string" ? digestOf(issued) : null };
}

function digestOf(secret: string): Buffer {
  return Buffer.from(digestKey(secret), "base64");
}

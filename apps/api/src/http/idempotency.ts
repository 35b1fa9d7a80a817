import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
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
import type { Answer, AnyCall, Endpoint } from "./endpoint.ts";
import type { RawInput } from "./parse-input.ts";

const keyPattern = /^[\x21-\x7E]{1,255}$/;

/** Reads the `Idempotency-Key`. @throws {AppError} BAD_REQUEST unless it is 1 to 255 visible ASCII characters. */
export function readIdempotencyKey({ headers }: IncomingMessage): string | undefined {
  const value = headers["idempotency-key"];
  if (value === undefined) return undefined;
  if (typeof value === "string" && keyPattern.test(value)) return withoutApiKey(value);
  const message = "must be 1 to 255 visible ASCII characters";
  throw new AppError("BAD_REQUEST", {
    issues: [{ path: "Idempotency-Key", code: "invalid_format", message }],
  });
}

/**
 * Replaces a value that contains an API key by its SHA-256, because the value is stored. Redacting only the API key
 * would make values equal that differ only in the API key.
 */
function withoutApiKey(value: string): string {
  if (redactKeys(value) === value) return value;
  return `sha256:${createHash("sha256").update(value).digest("hex")}`;
}

/** If an `Idempotency-Key` was used for a request with another body. */
export function nameReused(): AppError {
  return new AppError("UNPROCESSABLE_CONTENT", {
    message: "This Idempotency-Key was used for another request",
  });
}

/** The result of running an endpoint. */
export interface EndpointResult {
  readonly status: number;
  readonly answer: Answer;
  /** Whether the answer is the stored answer of an earlier request with the same `Idempotency-Key`. */
  readonly isReplayed: boolean;
}

interface NamedRequest {
  readonly name: IdempotencyName;
  readonly input: RawInput;
  readonly call: AnyCall;
}

/**
 * Runs an endpoint at most once per `Idempotency-Key`, however often the request is sent. The changes and the record
 * of the response are one transaction, so that a crash can't separate them. A request that failed with an error of its
 * own has changed nothing and has no record. A request that got 503 or no response has either changed nothing or has a
 * record. Both can be sent again (docs/decisions/0011).
 *
 * @throws {AppError} CONFLICT while the first request is in progress, UNPROCESSABLE_CONTENT if the `Idempotency-Key`
 *   was used for another request, and what the endpoint throws.
 */
export async function runIdempotently(
  endpoint: Endpoint,
  { name, input, call }: NamedRequest,
): Promise<EndpointResult> {
  const requestHash = createHash("sha256")
    .update(JSON.stringify(input.body ?? null))
    .digest();
  const presentedHash = Buffer.from(call.principal.digest, "base64");
  return await call.transact(async (trx) => {
    if (!(await claimIdempotencyName(trx, name))) {
      throw new AppError("CONFLICT", {
        message: "A request with this Idempotency-Key is still in progress",
        retryAfterSeconds: 1,
      });
    }
    const record = await findIdempotencyRecord(trx, name);
    const isRetry = record?.requestHash.equals(requestHash) === true;
    const isOwnRetry = isRetry && record.presentedHash?.equals(presentedHash) === true;
    const ownCall = { ...call, isOwnRetry };
    await endpoint.authorize?.(input, ownCall, trx);
    if (record && !isRetry) throw nameReused();
    if (record) return await replay(endpoint, record, { name, input, call: ownCall, trx });
    const answer = await endpoint.run(input, { ...call, transact: (work) => work(trx) });
    const { status } = endpoint.response;
    const newRecord = { requestHash, presentedHash, status, ...separateSecret(endpoint, answer) };
    await insertIdempotencyRecord(trx, name, newRecord);
    return { status, answer, isReplayed: false };
  });
}

/** Repeats the stored answer. Only the digest of an issued secret is stored, so the secret is reissued or omitted. */
async function replay(
  { secret }: Endpoint,
  { status, answer, issuedHash }: IdempotencyRecord,
  { name, input, call, trx }: NamedRequest & { readonly trx: Trx },
): Promise<EndpointResult> {
  if (!secret || !answer) return { status, answer: answer ?? undefined, isReplayed: true };
  const reissued = issuedHash && (await secret.reissue(input, call, { trx, hash: issuedHash, answer }));
  if (!reissued) return { status, answer: { ...answer, secretStatus: "omitted" }, isReplayed: true };
  await updateIssuedSecret(trx, name, digestOf(secret, reissued));
  const added = { [secret.member]: reissued, secretStatus: "reissued" };
  return { status, answer: { ...answer, ...added }, isReplayed: true };
}

/** Returns what is stored of an answer: everything except its secret, and the digest of the secret. */
function separateSecret(
  { response, secret }: Endpoint,
  answer: Answer,
): Pick<IdempotencyRecord, "answer" | "issuedHash"> {
  if (response.status === 204 || !answer) return { answer: null, issuedHash: null };
  if (!secret) return { answer, issuedHash: null };
  const { [secret.member]: issued, ...rest } = answer;
  return { answer: rest, issuedHash: typeof issued === "string" ? digestOf(secret, issued) : null };
}

function digestOf({ digest }: NonNullable<Endpoint["secret"]>, secret: string): Buffer {
  return digest ? digest(secret) : Buffer.from(digestKey(secret), "base64");
}

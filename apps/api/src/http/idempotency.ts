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
  updateIssuedSecrets,
} from "@latchkey/db/idempotency-records";
import type { Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import type { Answer, Endpoint } from "./endpoint.ts";
import type { AnyCall } from "./endpoint-call.ts";
import { consumeIdempotencyQuota } from "./idempotency-quota.ts";
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
 *   was used for another request, TOO_MANY_REQUESTS, and what the endpoint throws.
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
    const newRecord = { requestHash, presentedHash, status, ...separateSecrets(endpoint, answer) };
    const answerBytes = await insertIdempotencyRecord(trx, name, newRecord);
    await consumeIdempotencyQuota(trx, name.userId, { answerBytes, quotas: call.services.quotas });
    return { status, answer, isReplayed: false };
  });
}

/** Repeats the stored answer. Only the digests of issued secrets are stored, so each secret is reissued or omitted. */
async function replay(
  { secrets }: Endpoint,
  { status, answer, issuedHashes }: IdempotencyRecord,
  { name, input, call, trx }: NamedRequest & { readonly trx: Trx },
): Promise<EndpointResult> {
  if (!secrets || !answer) return { status, answer: answer ?? undefined, isReplayed: true };
  const issued = { trx, hashes: issuedHashes, answer };
  const reissued = issuedHashes.length === 0 ? [] : await secrets.reissue(input, call, issued);
  const holders = holdersOf(secrets, answer).map((holder, index) => {
    const fields = reissued[index];
    return { ...holder, ...fields, secretStatus: fields ? "reissued" : "omitted" };
  });
  const current = withHolders(secrets, answer, holders);
  if (reissued.some((fields) => fields !== undefined)) {
    const hashes = issuedHashes.map((hash, index) => {
      const secret = reissued[index]?.[secrets.member];
      return typeof secret === "string" ? digestOf(secrets, secret) : hash;
    });
    const stored = { answer: withoutSecrets(secrets, current), issuedHashes: hashes };
    await updateIssuedSecrets(trx, name, stored);
  }
  return { status, answer: current, isReplayed: true };
}

/** Returns what is stored of an answer: everything except its secrets, and their digests. */
function separateSecrets(
  { response, secrets }: Endpoint,
  answer: Answer,
): Pick<IdempotencyRecord, "answer" | "issuedHashes"> {
  if (response.status === 204 || !answer) return { answer: null, issuedHashes: [] };
  if (!secrets) return { answer, issuedHashes: [] };
  const holders = holdersOf(secrets, answer);
  const issuedHashes = holders.flatMap(({ [secrets.member]: issued }) =>
    typeof issued === "string" ? [digestOf(secrets, issued)] : [],
  );
  return { answer: withoutSecrets(secrets, answer), issuedHashes };
}

function withoutSecrets(secrets: Secrets, answer: Holder): Holder {
  const stored = holdersOf(secrets, answer).map(({ [secrets.member]: _issued, ...rest }) => rest);
  return withHolders(secrets, answer, stored);
}

type Secrets = NonNullable<Endpoint["secrets"]>;
type Holder = Record<string, unknown>;

/** The objects of an answer that can have a secret: the items of its list, or the answer itself. */
function holdersOf({ list }: Secrets, answer: Holder): readonly Holder[] {
  // The schema of the response requires a list of objects.
  return list === undefined ? [answer] : (answer[list] as readonly Holder[]);
}

/** Replaces the objects that {@link holdersOf} returned. */
function withHolders({ list }: Secrets, answer: Holder, holders: readonly Holder[]): Holder {
  return list === undefined ? { ...holders[0] } : { ...answer, [list]: holders };
}

function digestOf({ digest }: Secrets, secret: string): Buffer {
  return digest ? digest(secret) : Buffer.from(digestKey(secret), "base64");
}

import { type ErrorCode, errorCatalogue, type Issue } from "@latchkey/errors";
import { TRPCClientError } from "@trpc/client";

/** What a person needs to know of a failed call. */
export interface Failure {
  /** A code of the closed list, or `NO_ANSWER` where no answer of the API arrived. */
  readonly code: ErrorCode | "NO_ANSWER";
  /** A sentence to show, ending with a full stop. */
  readonly message: string;
  /** What to name when asking for help; absent where the API never answered. */
  readonly requestId: string | undefined;
  /** After how many seconds trying again makes sense, where the API says so. */
  readonly retryAfterSeconds: number | undefined;
  /** What is wrong with single fields. */
  readonly issues: readonly FieldIssue[];
}

/** What is wrong with one field. The app shows the words, which say what to do; it doesn't decide by the code. */
type FieldIssue = Pick<Issue, "path" | "message">;

/** Reads a failure out of anything a call threw. */
export function describeFailure(error: unknown): Failure {
  const refusal = error instanceof TRPCClientError ? (findTold(error) ?? findToldBefore(error)) : undefined;
  return (
    refusal ?? {
      code: "NO_ANSWER",
      message: "The server didn’t respond. Check your connection, then try again.",
      requestId: undefined,
      retryAfterSeconds: undefined,
      issues: [],
    }
  );
}

/** What a procedure told: tRPC's shape, with our facts under `data`. */
function findTold({ data, message }: TRPCClientError<never>): Failure | undefined {
  return isRecord(data) ? readFacts(data, message) : undefined;
}

/** What the server told before any procedure had the call, as when it is starting: `{ error: { code, … } }`. */
function findToldBefore({ meta }: TRPCClientError<never>): Failure | undefined {
  const body = meta?.responseJSON;
  return isRecord(body) && isRecord(body.error) ? readFacts(body.error, body.error.message) : undefined;
}

function readFacts(
  { code, requestId, retryAfterSeconds, issues }: Record<string, unknown>,
  message: unknown,
): Failure | undefined {
  if (!isErrorCode(code)) return undefined;
  return {
    code,
    message: asSentence(typeof message === "string" ? message : errorCatalogue[code].message),
    requestId: typeof requestId === "string" ? requestId : undefined,
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCatalogue, code);
}

function isIssue(value: unknown): value is FieldIssue {
  return isRecord(value) && typeof value.path === "string" && typeof value.message === "string";
}

function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

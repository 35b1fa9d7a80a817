import { type ErrorCode, errorCatalog, type Issue } from "@latchkey/errors";
import { TRPCClientError } from "@trpc/client";

/** The facts about a failed call that the app shows. */
export interface Failure {
  /** An error code of the API, or `NO_ANSWER` if the API did not respond. */
  readonly code: ErrorCode | "NO_ANSWER";
  /** A sentence to show, with final punctuation. */
  readonly message: string;
  /** The request ID to give to support; undefined if the API did not respond. */
  readonly requestId: string | undefined;
  /** How many seconds to wait before a retry, if the API specifies it. */
  readonly retryAfterSeconds: number | undefined;
  /** Errors of individual fields. */
  readonly issues: readonly FieldIssue[];
}

/** An error of one field. The app shows its message and doesn't use its code. */
export type FieldIssue = Pick<Issue, "path" | "message">;

/** Converts any error that a call throws to a failure. */
export function describeFailure(error: unknown): Failure {
  const rejection =
    error instanceof TRPCClientError
      ? (parseProcedureError(error) ?? parseErrorBody(error.meta?.responseJSON))
      : undefined;
  return (
    rejection ?? {
      code: "NO_ANSWER",
      message: "The server didn’t respond. Check your connection, then try again.",
      requestId: undefined,
      retryAfterSeconds: undefined,
      issues: [],
    }
  );
}

/** Parses the error of a procedure: tRPC's format, with our fields in `data`. */
function parseProcedureError({ data, message }: TRPCClientError<never>): Failure | undefined {
  return isRecord(data) ? toFailure(data, message) : undefined;
}

/**
 * Parses the error of a call that no procedure handled, for example during startup:
 * `{ error: { code, … } }`.
 */
export function parseErrorBody(body: unknown): Failure | undefined {
  return isRecord(body) && isRecord(body.error) ? toFailure(body.error, body.error.message) : undefined;
}

function toFailure(
  { code, requestId, retryAfterSeconds, issues }: Record<string, unknown>,
  message: unknown,
): Failure | undefined {
  if (!isErrorCode(code)) return undefined;
  return {
    code,
    message: asSentence(typeof message === "string" ? message : errorCatalog[code].message),
    requestId: typeof requestId === "string" ? requestId : undefined,
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCatalog, code);
}

function isIssue(value: unknown): value is FieldIssue {
  return isRecord(value) && typeof value.path === "string" && typeof value.message === "string";
}

function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

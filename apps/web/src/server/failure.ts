import type { ErrorCode, Issue } from "@latchkey/errors";
import type { Message, MessagePart } from "@latchkey/errors/message";
import { TRPCClientError } from "@trpc/client";
import { formatMessage } from "../ui/format-message.ts";

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

/** Whether the response was lost, so that a change may have been made. */
export function isResponseLost(error: unknown): boolean {
  return describeFailure(error).code === "NO_ANSWER";
}

/** Whether an item doesn't exist, or the ID in the URL is invalid. */
export function isNotFound(error: unknown): boolean {
  const { code } = describeFailure(error);
  return code === "NOT_FOUND" || code === "BAD_REQUEST";
}

/** Parses the error of a procedure: tRPC's format, with our fields in `data`. */
function parseProcedureError({ data, message }: TRPCClientError<never>): Failure | undefined {
  return isRecord(data) ? toFailure(data, message) : undefined;
}

/**
 * Parses the error of a call that no procedure handled, for example during startup or of an export:
 * `{ error: { code, … } }`.
 */
function parseErrorBody(body: unknown): Failure | undefined {
  return isRecord(body) && isRecord(body.error) ? toFailure(body.error, body.error.message) : undefined;
}

function toFailure(
  { code, requestId, retryAfterSeconds, issues, pieces }: Record<string, unknown>,
  text: unknown,
): Failure | undefined {
  if (!isErrorCode(code)) return undefined;
  const message = isMessage(pieces) ? formatMessage(pieces) : text;
  return {
    code,
    message: typeof message === "string" ? asSentence(message) : "The server rejected the call.",
    requestId: typeof requestId === "string" ? requestId : undefined,
    retryAfterSeconds: typeof retryAfterSeconds === "number" ? retryAfterSeconds : undefined,
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The codes without the catalog, whose statuses and messages every page would load and none needs. */
const errorCodes: Readonly<Record<ErrorCode, true>> = {
  BAD_REQUEST: true,
  UNAUTHORIZED: true,
  FORBIDDEN: true,
  NOT_FOUND: true,
  METHOD_NOT_SUPPORTED: true,
  REQUEST_TIMEOUT: true,
  CONFLICT: true,
  PRECONDITION_FAILED: true,
  PAYLOAD_TOO_LARGE: true,
  UNSUPPORTED_MEDIA_TYPE: true,
  UNPROCESSABLE_CONTENT: true,
  TOO_MANY_REQUESTS: true,
  REQUEST_HEADER_FIELDS_TOO_LARGE: true,
  INTERNAL_SERVER_ERROR: true,
  SERVICE_UNAVAILABLE: true,
};

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCodes, code);
}

function isIssue(value: unknown): value is FieldIssue {
  return isRecord(value) && typeof value.path === "string" && typeof value.message === "string";
}

/** Whether the value is a message with counts or times, which are formatted here. */
function isMessage(value: unknown): value is Message {
  return Array.isArray(value) && value.every(isMessagePart);
}

function isMessagePart(value: unknown): value is MessagePart {
  if (typeof value === "string") return true;
  return isRecord(value) && (typeof value.count === "number" || typeof value.time === "string");
}

function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

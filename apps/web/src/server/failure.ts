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
  /** What is wrong with single fields. */
  readonly issues: readonly Issue[];
}

/** Reads a failure out of anything a call threw. */
export function describeFailure(error: unknown): Failure {
  const data = error instanceof TRPCClientError ? readData(error.data) : undefined;
  if (!data) {
    return {
      code: "NO_ANSWER",
      message: "The server did not answer. Check the connection, then try again.",
      requestId: undefined,
      issues: [],
    };
  }
  const message = error instanceof Error ? error.message : errorCatalogue[data.code].message;
  return { ...data, message: asSentence(message) };
}

function readData(data: unknown): (Omit<Failure, "message"> & { code: ErrorCode }) | undefined {
  if (typeof data !== "object" || data === null || !("code" in data) || !isErrorCode(data.code)) return;
  return {
    code: data.code,
    requestId: "requestId" in data && typeof data.requestId === "string" ? data.requestId : undefined,
    issues: "issues" in data && Array.isArray(data.issues) ? data.issues.filter(isIssue) : [],
  };
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(errorCatalogue, code);
}

function isIssue(value: unknown): value is Issue {
  return (
    typeof value === "object" &&
    value !== null &&
    "path" in value &&
    typeof value.path === "string" &&
    "message" in value &&
    typeof value.message === "string"
  );
}

function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

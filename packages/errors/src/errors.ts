import { type Message, writeMessage } from "./message.ts";

/**
 * All failures that Latchkey reports, as one closed list. Koa and tRPC map errors with it, and the web app imports its
 * codes, so this file must not depend on Node.
 */

/** The tRPC codes that Latchkey's codes map to: a subset of `TRPC_ERROR_CODE_KEY`. */
type TrpcCode =
  | "BAD_REQUEST"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "METHOD_NOT_SUPPORTED"
  | "TIMEOUT"
  | "CONFLICT"
  | "PRECONDITION_FAILED"
  | "PAYLOAD_TOO_LARGE"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "UNPROCESSABLE_CONTENT"
  | "TOO_MANY_REQUESTS"
  | "INTERNAL_SERVER_ERROR"
  | "SERVICE_UNAVAILABLE";

interface ErrorFacts {
  /** The HTTP status of the response. */
  readonly status: number;
  /** The tRPC code of the same failure. */
  readonly trpc: TrpcCode;
  /** The default message for clients. Contains no internal details. */
  readonly message: string;
}

/** Every error code, with its HTTP status, tRPC code and default message. */
export const errorCatalog = {
  BAD_REQUEST: { status: 400, trpc: "BAD_REQUEST", message: "The request is not valid" },
  UNAUTHORIZED: { status: 401, trpc: "UNAUTHORIZED", message: "Authorization not provided" },
  FORBIDDEN: { status: 403, trpc: "FORBIDDEN", message: "Insufficient access" },
  NOT_FOUND: { status: 404, trpc: "NOT_FOUND", message: "Not found" },
  METHOD_NOT_SUPPORTED: { status: 405, trpc: "METHOD_NOT_SUPPORTED", message: "Method not supported" },
  REQUEST_TIMEOUT: { status: 408, trpc: "TIMEOUT", message: "The request did not arrive in time" },
  CONFLICT: { status: 409, trpc: "CONFLICT", message: "The request conflicts with the current state" },
  PRECONDITION_FAILED: { status: 412, trpc: "PRECONDITION_FAILED", message: "The resource has changed" },
  PAYLOAD_TOO_LARGE: { status: 413, trpc: "PAYLOAD_TOO_LARGE", message: "The body is too large" },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    trpc: "UNSUPPORTED_MEDIA_TYPE",
    message: "The body must be application/json in UTF-8",
  },
  UNPROCESSABLE_CONTENT: {
    status: 422,
    trpc: "UNPROCESSABLE_CONTENT",
    message: "The request is well-formed but can't be processed",
  },
  TOO_MANY_REQUESTS: { status: 429, trpc: "TOO_MANY_REQUESTS", message: "Too many requests" },
  REQUEST_HEADER_FIELDS_TOO_LARGE: {
    status: 431,
    trpc: "BAD_REQUEST",
    message: "The request's header fields are too large",
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    trpc: "INTERNAL_SERVER_ERROR",
    message: "Internal server error",
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    trpc: "SERVICE_UNAVAILABLE",
    message: "The service is temporarily unavailable",
  },
} as const satisfies Record<string, ErrorFacts>;

/** A code in {@link errorCatalog}. */
export type ErrorCode = keyof typeof errorCatalog;

/** Every issue code and its meaning. Clients may depend on a code, so codes are added and never removed. */
export const issueCatalog = {
  required: "A required field, parameter or option is missing.",
  unknown_member: "The request has a field or query parameter that the endpoint doesn't define.",
  duplicate_member: "The JSON object has two fields with the same name.",
  invalid_type: "The value has the wrong JSON type, such as a number where a string is expected.",
  invalid_format: "The string isn't in the expected format, such as an ID, a time or an email address.",
  invalid_characters: "The string contains characters that aren't allowed, such as control characters.",
  invalid_value: "The value isn't one of those allowed.",
  invalid_range: "The start and end don't form an allowed range.",
  not_in_future: "The time isn't in the future.",
  too_short: "The string has too few visible characters.",
  too_long: "The string has too many characters.",
  too_guessable: "The password is a common one, or the user's own name or email address.",
  too_few: "The array has too few items.",
  too_many: "The array has too many items.",
  too_small: "The number is below the minimum.",
  too_large: "The number, or the size of the change, is above the maximum.",
  not_found: "The value refers to something that doesn't exist or that the caller can't access.",
  quota_exceeded: "The user or workspace has as many of these as the instance allows.",
  no_changes: "The request changes nothing.",
  expands_access: "The change would let the key do more than before.",
  reauthentication_required:
    "The user must confirm their identity again. Only calls of the web app get this code.",
  second_factor_required:
    "The workspace requires a second factor, and the user has none. Only calls of the web app get this code.",
  workspace_disabled:
    "An operator of the instance disabled the workspace. Only callers whose request would otherwise be allowed get this issue.",
} as const satisfies Record<string, string>;

/** Why part of a request is rejected: a code in {@link issueCatalog}. */
export type IssueCode = keyof typeof issueCatalog;

/** One problem with one field of a request. */
export interface Issue {
  /** Members and indexes joined with dots (`name`, `items.0.id`), or the name of a header; empty for the whole body. */
  readonly path: string;
  readonly code: IssueCode;
  /** A sentence for people. Its wording may change. */
  readonly message: string;
}

/** The most issues in an error. A request can have thousands, one for each unknown field. */
export const maxIssues = 20;

/** The longest message of an error or an issue, in UTF-16 code units. Longer ones are shortened. */
export const maxMessageLength = 2_000;

/** The longest path of an issue, in UTF-16 code units. A request can have field names of any length. */
export const maxPathLength = 200;

/** What an error can include in addition to its code. */
export interface AppErrorOptions extends ErrorOptions {
  /**
   * A message for the client that replaces the default. It must not contain internal details. At most
   * {@link maxMessageLength}.
   */
  readonly message?: string | Message;
  readonly issues?: readonly Issue[];
  /** When the client should retry, in seconds. Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Response headers that the status requires, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A failure with a code in {@link errorCatalog}. Anything else that is thrown is a bug. */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  /** The pieces of the message, if it has counts or times. */
  readonly pieces: Message | undefined;
  /** At most {@link maxIssues}, with paths of at most {@link maxPathLength}. */
  readonly issues: readonly Issue[] | undefined;
  /** How many issues were omitted because of {@link maxIssues}. */
  readonly omittedIssues: number;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    const { message = errorCatalog[code].message, cause } = options;
    super(shorten(typeof message === "string" ? message : writeMessage(message), maxMessageLength), {
      cause,
    });
    this.code = code;
    this.pieces = typeof message === "string" ? undefined : message;
    this.issues = options.issues?.slice(0, maxIssues).map((issue) => ({
      ...issue,
      path: shorten(issue.path, maxPathLength),
      message: shorten(issue.message, maxMessageLength),
    }));
    this.omittedIssues = Math.max(0, (options.issues?.length ?? 0) - maxIssues);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorCatalog[this.code].status;
  }
}

/**
 * Returns an `AppError` unchanged. Wraps anything else, which is a bug, in `INTERNAL_SERVER_ERROR`. The bug becomes the
 * cause, which is logged and never sent to the client.
 */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : new AppError("INTERNAL_SERVER_ERROR", { cause: thrown });
}

/** Returns at most `maxLength` UTF-16 code units of a text, with `…` at the end if something was omitted. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // Half of a surrogate pair isn't Unicode.
  return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

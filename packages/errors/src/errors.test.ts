import { expect, test } from "vitest";
import { AppError, errorCatalog, maxMessageLength, maxPathLength, shorten, toAppError } from "./errors.ts";

test("codes have the HTTP statuses and messages of the contract", () => {
  const table = Object.entries(errorCatalog).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(table)).toEqual({
    BAD_REQUEST: 400,
    UNAUTHORIZED: 401,
    FORBIDDEN: 403,
    NOT_FOUND: 404,
    METHOD_NOT_SUPPORTED: 405,
    REQUEST_TIMEOUT: 408,
    CONFLICT: 409,
    PRECONDITION_FAILED: 412,
    PAYLOAD_TOO_LARGE: 413,
    UNSUPPORTED_MEDIA_TYPE: 415,
    UNPROCESSABLE_CONTENT: 422,
    TOO_MANY_REQUESTS: 429,
    REQUEST_HEADER_FIELDS_TOO_LARGE: 431,
    INTERNAL_SERVER_ERROR: 500,
    SERVICE_UNAVAILABLE: 503,
  });
  expect(new AppError("UNAUTHORIZED").message).toBe("Authorization not provided");
  expect(new AppError("FORBIDDEN").message).toBe("Insufficient access");
});

test("toAppError returns an AppError unchanged", () => {
  const error = new AppError("CONFLICT");
  expect(toAppError(error)).toBe(error);
});

test("toAppError hides the message of a bug and keeps the bug as the cause", () => {
  const bug = new TypeError("secret detail");
  const error = toAppError(bug);
  expect(error.code).toBe("INTERNAL_SERVER_ERROR");
  expect(error.message).not.toContain("secret detail");
  expect(error.cause).toBe(bug);
});

test("the message of an error, and the paths and messages of its issues, have a maximum length", () => {
  const issue = (length: number) =>
    ({ path: "p".repeat(length), code: "unknown_member", message: "m".repeat(length) }) as const;
  const { message, issues } = new AppError("BAD_REQUEST", {
    message: "e".repeat(100_000),
    issues: [issue(100_000), issue(maxPathLength)],
  });
  expect(message).toBe(`${"e".repeat(maxMessageLength - 1)}…`);
  expect(issues).toEqual([
    {
      path: `${"p".repeat(maxPathLength - 1)}…`,
      code: "unknown_member",
      message: `${"m".repeat(maxMessageLength - 1)}…`,
    },
    issue(maxPathLength),
  ]);
});

test("shorten leaves no half of a surrogate pair", () => {
  expect(shorten("🔑🔑🔑", 6)).toBe("🔑🔑🔑");
  expect(shorten("🔑🔑🔑", 5)).toBe("🔑🔑…");
  expect(shorten("🔑🔑🔑", 4)).toBe("🔑…");
});

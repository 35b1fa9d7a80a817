import { expect, test } from "vitest";
import { AppError, errorCatalog, toAppError } from "./errors.ts";

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

import { type ErrorCode, errorCatalog } from "@latchkey/errors";
import { TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { expect, test } from "vitest";

const codes = Object.keys(errorCatalog) as ErrorCode[]; // The keys of the catalog are the codes.

// tRPC has no code for 431. The server rejects such a request before it calls a procedure.
test.each(codes.filter((code) => code !== "REQUEST_HEADER_FIELDS_TOO_LARGE"))(
  "%s has the same HTTP status through Koa and through tRPC",
  (code) => {
    const { status, trpc } = errorCatalog[code];
    expect(getHTTPStatusCodeFromError(new TRPCError({ code: trpc }))).toBe(status);
  },
);

import { type ErrorCode, errorCatalogue } from "@latchkey/errors";
import { TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { expect, test } from "vitest";

const codes = Object.keys(errorCatalogue) as ErrorCode[]; // The catalogue's keys are the codes.

// tRPC has no code for 431, which never reaches it: such a request is answered before there is a procedure.
test.each(codes.filter((code) => code !== "REQUEST_HEADER_FIELDS_TOO_LARGE"))(
  "%s has the same HTTP status through Koa and through tRPC",
  (code) => {
    const { status, trpc } = errorCatalogue[code];
    expect(getHTTPStatusCodeFromError(new TRPCError({ code: trpc }))).toBe(status);
  },
);

import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { expect, test } from "vitest";
import { formatCount } from "../ui/count.ts";
import { describeExactly } from "../ui/elapsed.ts";
import { describeFailure } from "./failure.ts";

/** Returns the failure of a call to which the server responds with this status and body. */
async function failureOf(status: number, body: unknown) {
  const fetch = async () => new Response(JSON.stringify(body), { status });
  const client = createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url: "http://localhost/trpc", fetch })],
  });
  return describeFailure(await client.session.current.query().catch((error: unknown) => error));
}

test("reads the error of a procedure", async () => {
  const issues = [{ path: "name", message: "Too long" }];
  const error = {
    code: -32600,
    message: "The request is not valid",
    data: { code: "BAD_REQUEST", httpStatus: 400, requestId: "req-1", retryAfterSeconds: 90, issues },
  };
  expect(await failureOf(400, [{ error }])).toEqual({
    code: "BAD_REQUEST",
    message: "The request is not valid.",
    requestId: "req-1",
    retryAfterSeconds: 90,
    issues,
  });
});

test("formats the counts and times of a message in the reader's locale and time zone", async () => {
  const time = "2026-03-15T14:30:00Z";
  const error = {
    code: -32600,
    message: "1,204 keys until March 15, 2026 at 2:30 PM UTC",
    data: { code: "CONFLICT", pieces: [{ count: 1_204 }, " keys until ", { time }] },
  };
  const { message } = await failureOf(409, [{ error }]);
  expect(message).toBe(`${formatCount(1_204)} keys until ${describeExactly(new Date(time))}.`);
});

test.each([
  { status: 403, code: "FORBIDDEN", message: "This call comes from another site." },
  { status: 413, code: "PAYLOAD_TOO_LARGE", message: "The body is too large." },
  { status: 503, code: "SERVICE_UNAVAILABLE", message: "The server is starting." },
])("reads a rejection with status $status that no procedure handled", async ({ status, code, message }) => {
  const error = { code, message, requestId: "req-2" };
  expect(await failureOf(status, { error })).toEqual({ code, message, requestId: "req-2", issues: [] });
});

test.each([{ error: "Bad gateway" }, { error: { code: "ELSEWHERE", message: "no" } }, "text", null, {}])(
  "treats %j as no response of the API",
  async (body) => {
    expect(await failureOf(502, body)).toMatchObject({ code: "NO_ANSWER", requestId: undefined });
  },
);

import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { expect, test } from "vitest";
import { describeFailure } from "./failure.ts";

/** What is read out of a call that the server answers like this. */
async function describeAnswer(status: number, body: unknown) {
  const fetch = async () => new Response(JSON.stringify(body), { status });
  const client = createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url: "http://localhost/trpc", fetch })],
  });
  return describeFailure(await client.session.current.query().catch((error: unknown) => error));
}

test("reads what a procedure told", async () => {
  const issues = [{ path: "name", message: "Too long" }];
  const error = {
    code: -32600,
    message: "The request is not valid",
    data: { code: "BAD_REQUEST", httpStatus: 400, requestId: "req-1", retryAfterSeconds: 90, issues },
  };
  expect(await describeAnswer(400, [{ error }])).toEqual({
    code: "BAD_REQUEST",
    message: "The request is not valid.",
    requestId: "req-1",
    retryAfterSeconds: 90,
    issues,
  });
});

test.each([
  { status: 403, code: "FORBIDDEN", message: "This call comes from another site." },
  { status: 413, code: "PAYLOAD_TOO_LARGE", message: "The body is too large." },
  { status: 503, code: "SERVICE_UNAVAILABLE", message: "The server is starting." },
])("reads a refusal with $status from before any procedure", async ({ status, code, message }) => {
  const error = { code, message, requestId: "req-2" };
  expect(await describeAnswer(status, { error })).toEqual({ code, message, requestId: "req-2", issues: [] });
});

test.each([{ error: "Bad gateway" }, { error: { code: "ELSEWHERE", message: "no" } }, "text", null, {}])(
  "takes %j for no answer of ours",
  async (body) => {
    expect(await describeAnswer(502, body)).toMatchObject({ code: "NO_ANSWER", requestId: undefined });
  },
);

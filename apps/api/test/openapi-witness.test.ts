import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../src/http/endpoint.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { createOpenApiDocument } from "../src/open/openapi-document.ts";
import { createAnswerCheck, type SeenAnswer } from "./openapi-check.ts";
import { sendRaw, startTestApp, type TestApp } from "./test-app.ts";

describe("the check", () => {
  const check = createAnswerCheck(
    createOpenApiDocument(endpoints, { baseUrl: "https://keys.latchkey.test", version: "0.1.0" }),
  );
  const requestId = "0f8fad5b-d9cb-469f-a165-70867728950e";
  const workspace = {
    id: "ws_01h455vb4pex5vsknk084sn02q",
    name: "Payments",
    description: "",
    slug: "payments",
    role: "owner",
    createdAt: "2026-03-01T09:30:00.000Z",
    version: 3,
  };

  function answerOf(change: Partial<SeenAnswer> & { readonly more?: Readonly<Record<string, string>> }) {
    const { more, ...rest } = change;
    const general = { "content-type": "application/json; charset=utf-8", "x-request-id": requestId };
    return {
      method: "GET",
      path: "/open/workspaces/ws_01h455vb4pex5vsknk084sn02q",
      status: 200,
      headers: new Map(Object.entries({ ...general, ...more })),
      body: JSON.stringify(workspace),
      ...rest,
    };
  }

  function failureOf(code: string, more: object = {}): string {
    return JSON.stringify({
      error: {
        code,
        message: "No",
        requestId,
        documentationUrl: "https://keys.example.com/docs/errors",
        ...more,
      },
    });
  }

  const etag = { etag: '"3.zrVRXp1Cf0g"' };

  test.each<readonly [string, SeenAnswer]>([
    ["an answer as it should be", answerOf({ more: etag })],
    ["an answer to HEAD", answerOf({ method: "HEAD", body: "", more: etag })],
    ["a failure of an operation", answerOf({ status: 403, body: failureOf("FORBIDDEN") })],
    ["an unknown path", answerOf({ path: "/open/nowhere", status: 404, body: failureOf("NOT_FOUND") })],
    [
      "a wrong method",
      answerOf({
        method: "PUT",
        status: 405,
        body: failureOf("METHOD_NOT_SUPPORTED"),
        more: { allow: "GET, HEAD" },
      }),
    ],
  ])("lets %s pass", (_what, answer) => {
    expect(check(answer)).toEqual([]);
  });

  test.each<readonly [string, SeenAnswer, RegExp]>([
    [
      "a member too many",
      answerOf({ body: JSON.stringify({ ...workspace, secret: 1 }), more: etag }),
      /additional properties \(secret\)/,
    ],
    ["a member too few", answerOf({ body: "{}", more: etag }), /required property 'id'/],
    [
      "an id of another kind",
      answerOf({ body: JSON.stringify({ ...workspace, id: "usr_01h455vb4pex5vsknk084sn02q" }), more: etag }),
      /\/id must match pattern/,
    ],
    [
      "a time that is none",
      answerOf({ body: JSON.stringify({ ...workspace, createdAt: "yesterday" }), more: etag }),
      /\/createdAt must match format/,
    ],
    ["a missing header", answerOf({}), /the header etag is missing/],
    ["a header that is off", answerOf({ more: { etag: "3" } }), /the header etag must match pattern/],
    ["an unknown header", answerOf({ more: { ...etag, "x-powered-by": "us" } }), /x-powered-by is not in/],
    ["an unknown status", answerOf({ status: 418, body: failureOf("NOT_FOUND") }), /no such status/],
    [
      "a code nobody tells of",
      answerOf({ status: 403, body: failureOf("CONFLICT") }),
      /has the code CONFLICT/,
    ],
    [
      "a failure with a member too many",
      answerOf({ path: "/open/nowhere", status: 404, body: failureOf("NOT_FOUND", { stack: "at" }) }),
      /additional properties \(stack\)/,
    ],
    ["success where there is nothing", answerOf({ path: "/open/nowhere" }), /no operation/],
    [
      "a body where there is none",
      answerOf({ method: "DELETE", status: 204 }),
      /has a body, and the document has none/,
    ],
    [
      "another kind of body",
      answerOf({ more: { ...etag, "content-type": "text/html" } }),
      /not application\/json/,
    ],
    [
      "503 without its header",
      answerOf({ status: 503, body: failureOf("SERVICE_UNAVAILABLE") }),
      /retry-after is missing/,
    ],
  ])("finds %s", (_what, answer, words) => {
    expect(check(answer).join("\n")).toMatch(words);
  });
});

describe("the app under test", () => {
  const honest = defineEndpoint({
    method: "GET",
    path: "/things/:thingId",
    operationId: "getThing",
    summary: "Get a thing",
    description: "Whatever it is.",
    access: "key",
    request: { params: z.strictObject({ thingId: z.string() }) },
    response: { status: 200, schema: z.object({ ok: z.boolean() }) },
    errors: [],
    handle: () => ({ ok: true }),
  });
  /** Answers past its own declaration. */
  const dishonest: Endpoint = {
    ...honest,
    path: "/lies/:thingId",
    operationId: "getLie",
    run: () => ({ ok: true, leaked: "not declared" }),
  };

  let app: TestApp;
  let headers: Record<string, string>;
  beforeAll(async () => {
    app = await startTestApp({ more: [honest, dishonest] });
    headers = { Authorization: `Bearer ${(await app.addKey()).secret}` };
  });
  let hasEnded = false;
  afterAll(async () => {
    if (!hasEnded) await app.close();
  });

  test("looks at every answer of the open API, and fails in the end where one did not fit", async () => {
    const before = app.checkedAnswers();
    await fetch(`${app.baseUrl}/open/things/1`, { headers });
    await fetch(`${app.baseUrl}/open/lies/1?a=1`, { headers });
    await fetch(`${app.baseUrl}/open/nowhere`, { headers });
    await fetch(`${app.baseUrl}/open/things/1`);
    await fetch(`${app.baseUrl}/healthz`);
    await sendRaw(app.baseUrl, "no HTTP at all\r\n\r\n");
    expect(app.checkedAnswers() - before).toBe(5);
    hasEnded = true;
    await expect(app.close()).rejects.toThrow(
      /describe:\nGET \/open\/lies\/1 200: must NOT have additional properties \(leaked\)$/,
    );
  });
});

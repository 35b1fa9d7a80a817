import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint, type Endpoint } from "../src/http/endpoint.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { createOpenApiDocument } from "../src/open/openapi-document.ts";
import { createResponseCheck, type RecordedResponse } from "./openapi-check.ts";
import { sendRaw, startTestApp, type TestApp } from "./test-app.ts";

describe("the check", () => {
  const check = createResponseCheck(
    createOpenApiDocument(endpoints, { baseUrl: "https://keys.latchkey.test", version: "0.1.0" }),
  );
  const requestId = "0f8fad5b-d9cb-469f-a165-70867728950e";
  const workspace = {
    id: "ws_01h455vb4pex5vsknk084sn02q",
    name: "Payments",
    description: "",
    requiresSecondFactor: false,
    auditRetentionDays: null,
    isDisabled: false,
    slug: "payments",
    role: "owner",
    createdAt: "2026-03-01T09:30:00.000Z",
    version: 3,
  };

  function createResponse(
    change: Partial<RecordedResponse> & { readonly more?: Readonly<Record<string, string>> },
  ) {
    const { more, ...rest } = change;
    const headers = { "content-type": "application/json; charset=utf-8", "x-request-id": requestId };
    return {
      method: "GET",
      path: "/open/workspaces/ws_01h455vb4pex5vsknk084sn02q",
      status: 200,
      headers: new Map(Object.entries({ ...headers, ...more })),
      body: JSON.stringify(workspace),
      ...rest,
    };
  }

  function errorBody(code: string, more: object = {}): string {
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

  test.each<readonly [string, RecordedResponse]>([
    ["a documented response", createResponse({ more: etag })],
    ["a response to HEAD", createResponse({ method: "HEAD", body: "", more: etag })],
    ["an error of an operation", createResponse({ status: 403, body: errorBody("FORBIDDEN") })],
    ["an unknown path", createResponse({ path: "/open/nowhere", status: 404, body: errorBody("NOT_FOUND") })],
    [
      "a wrong method",
      createResponse({
        method: "PUT",
        status: 405,
        body: errorBody("METHOD_NOT_SUPPORTED"),
        more: { allow: "GET, HEAD" },
      }),
    ],
  ])("accepts %s", (_what, response) => {
    expect(check(response)).toEqual([]);
  });

  test.each<readonly [string, RecordedResponse, RegExp]>([
    [
      "an additional member",
      createResponse({ body: JSON.stringify({ ...workspace, secret: 1 }), more: etag }),
      /additional properties \(secret\)/,
    ],
    ["a missing field", createResponse({ body: "{}", more: etag }), /required property 'id'/],
    [
      "an ID of another kind",
      createResponse({
        body: JSON.stringify({ ...workspace, id: "usr_01h455vb4pex5vsknk084sn02q" }),
        more: etag,
      }),
      /\/id must match pattern/,
    ],
    [
      "an invalid time",
      createResponse({ body: JSON.stringify({ ...workspace, createdAt: "yesterday" }), more: etag }),
      /\/createdAt must match format/,
    ],
    ["a missing header", createResponse({}), /the header etag is missing/],
    ["an invalid header", createResponse({ more: { etag: "3" } }), /the header etag must match pattern/],
    [
      "an unknown header",
      createResponse({ more: { ...etag, "x-powered-by": "us" } }),
      /x-powered-by is not in/,
    ],
    ["an unknown status", createResponse({ status: 418, body: errorBody("NOT_FOUND") }), /no such status/],
    [
      "an undocumented error code",
      createResponse({ status: 403, body: errorBody("CONFLICT") }),
      /has the code CONFLICT/,
    ],
    [
      "an error with an additional member",
      createResponse({ path: "/open/nowhere", status: 404, body: errorBody("NOT_FOUND", { stack: "at" }) }),
      /additional properties \(stack\)/,
    ],
    ["success on an unknown path", createResponse({ path: "/open/nowhere" }), /no operation/],
    [
      "a body with status 204",
      createResponse({ method: "DELETE", status: 204 }),
      /has a body, and the document has none/,
    ],
    [
      "a body that isn't JSON",
      createResponse({ more: { ...etag, "content-type": "text/html" } }),
      /not application\/json/,
    ],
    [
      "503 without Retry-After",
      createResponse({ status: 503, body: errorBody("SERVICE_UNAVAILABLE") }),
      /retry-after is missing/,
    ],
  ])("rejects %s", (_what, response, message) => {
    expect(check(response).join("\n")).toMatch(message);
  });
});

describe("the app under test", () => {
  const conformingEndpoint = defineEndpoint({
    method: "GET",
    path: "/things/:thingId",
    operationId: "getThing",
    summary: "Get a thing",
    description: "Whatever it is.",
    access: "key",
    request: { params: z.strictObject({ thingId: z.string() }) },
    response: { status: 200, description: "The result.", schema: z.object({ ok: z.boolean() }) },
    errors: [],
    handle: () => ({ ok: true }),
  });
  /** Returns a member that its declaration doesn't have. */
  const deviatingEndpoint: Endpoint = {
    ...conformingEndpoint,
    path: "/lies/:thingId",
    operationId: "getLie",
    run: () => ({ ok: true, leaked: "not declared" }),
  };

  let app: TestApp;
  let headers: Record<string, string>;
  beforeAll(async () => {
    app = await startTestApp({ extraEndpoints: [conformingEndpoint, deviatingEndpoint] });
    headers = { Authorization: `Bearer ${(await app.addKey()).secret}` };
  });
  let isClosed = false;
  afterAll(async () => {
    if (!isClosed) await app.close();
  });

  test("checks every response of the open API, and fails on close if one didn't match", async () => {
    const before = app.countCheckedResponses();
    await fetch(`${app.baseUrl}/open/things/1`, { headers });
    await fetch(`${app.baseUrl}/open/lies/1?a=1`, { headers });
    await fetch(`${app.baseUrl}/open/nowhere`, { headers });
    await fetch(`${app.baseUrl}/open/things/1`);
    await fetch(`${app.baseUrl}/healthz`);
    await sendRaw(app.baseUrl, "no HTTP at all\r\n\r\n");
    expect(app.countCheckedResponses() - before).toBe(5);
    isClosed = true;
    await expect(app.close()).rejects.toThrow(
      /describe:\nGET \/open\/lies\/1 200: must NOT have additional properties \(leaked\)$/,
    );
  });
});

// Parsing of request bodies. No character is stored that the client didn't send.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { createId, encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../src/open/endpoints.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
let secret: string;
let ids: Record<string, string>;
beforeAll(async () => {
  app = await startTestApp();
  const key = await app.addKey();
  secret = key.secret;
  const { workspaceId } = await app.owner
    .selectFrom("members")
    .select("workspace_id as workspaceId")
    .where("user_id", "=", key.userId)
    .executeTakeFirstOrThrow();
  ids = {
    keyId: encodeId("key", (await app.addKey(key.userId)).id),
    userId: encodeId("user", key.userId),
    workspaceId: encodeId("workspace", workspaceId),
    invitationId: encodeId("invitation", createId("invitation")),
    webhookId: encodeId("webhook", createId("webhook")),
    externalId: "acme",
    deliveryId: encodeId("delivery", createId("delivery")),
    keyspaceId: encodeId("keyspace", createId("keyspace")),
    issuedKeyId: encodeId("issuedKey", createId("issuedKey")),
  };
});
afterAll(() => app.close());

type Body = string | Uint8Array | undefined;

/** Sends any body with any method, which fetch can't. */
async function send(method: string, path: string, body: Body, headers: Record<string, string> = {}) {
  const outgoing = request(app.baseUrl + path, {
    method,
    headers: {
      Authorization: `Bearer ${secret}`,
      "Content-Type": "application/json",
      ...(body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) }),
      ...headers,
    },
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const content = await text(response);
  return { status: response.statusCode, body: content === "" ? undefined : JSON.parse(content) };
}

const create = (body: Body, headers?: Record<string, string>) =>
  send("POST", "/open/workspaces", body, headers);
const utf8 = (name: string): Buffer => Buffer.from(JSON.stringify({ name }));
const latin1 = (name: string): Buffer => Buffer.from(JSON.stringify({ name }), "latin1");

async function countStored(): Promise<number> {
  const { count } = await app.owner
    .selectFrom("workspaces")
    .select((query) => query.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(count);
}

describe("a body that isn't UTF-8", () => {
  const rows: readonly (readonly [string, Body, number])[] = [
    ["Latin-1", latin1("Café"), 400],
    ["a truncated character", utf8("Café").subarray(0, -3), 400],
    [
      "an overlong encoding of a slash",
      Buffer.concat([Buffer.from('{"name":"a'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
      400,
    ],
    [
      "an encoded surrogate",
      Buffer.concat([Buffer.from('{"name":"a'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
      400,
    ],
    ["an invalid last byte", Buffer.concat([utf8("Cafe"), Buffer.from([0xff])]), 400],
    ["UTF-16", Buffer.from(`\ufeff${JSON.stringify({ name: "Cafe" })}`, "utf16le"), 400],
  ];
  test.each(rows)("is rejected and not stored: %s", async (_what, body, status) => {
    const before = await countStored();
    const answer = await create(body);
    expect([answer.status, answer.body.error.code]).toEqual([status, "BAD_REQUEST"]);
    expect(answer.body.error.message).toBe("The body is not valid UTF-8");
    expect(await countStored()).toBe(before);
  });

  test("is rejected even if it is compressed", async () => {
    const answer = await create(gzipSync(latin1("Café")), { "Content-Encoding": "gzip" });
    expect([answer.status, answer.body.error.message]).toEqual([400, "The body is not valid UTF-8"]);
  });
});

describe("the charset of a body", () => {
  test.each(["iso-8859-1", "utf-16", "UTF-16LE", "windows-1252", "us-ascii", "utf-7", "utf-8859-1"])(
    "%s is rejected, whatever the bytes are",
    async (charset) => {
      const answer = await create(utf8("Cafe"), { "Content-Type": `application/json; charset=${charset}` });
      expect([answer.status, answer.body.error.code]).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
    },
  );

  test.each(["utf-8", "UTF-8", '"utf-8"', "utf8"])("%s is accepted", async (charset) => {
    const answer = await create(utf8("Café 👩‍👩‍👧"), {
      "Content-Type": `application/json;charset=${charset}`,
    });
    expect([answer.status, answer.body.name]).toEqual([201, "Café 👩‍👩‍👧"]);
  });
});

test.each([
  ["gzip", gzipSync],
  ["GZIP", gzipSync],
  ["deflate", deflateSync],
  ["br", brotliCompressSync],
])("a body in %s is decompressed", async (encoding, pack) => {
  const answer = await create(pack(utf8("Café")), { "Content-Encoding": encoding });
  expect([answer.status, answer.body.name]).toEqual([201, "Café"]);
});

test.each(["gzip", "br"])("a body that isn't in its declared encoding %s is rejected", async (encoding) => {
  const answer = await create(utf8("Café"), { "Content-Encoding": encoding });
  expect([answer.status, answer.body.error.message]).toEqual([400, "The body cannot be read"]);
});

test("U+FFFD from the client, and a byte order mark, are accepted", async () => {
  const answer = await create(Buffer.from('\ufeff{"name":"\ufffd"}'));
  expect([answer.status, answer.body.name]).toEqual([201, "\ufffd"]);
});

test.each(["null", "5", '"name"', "true", "[]", '[{"name":"x"}]', " null "])(
  "%s is rejected because it isn't a JSON object",
  async (body) => {
    for (const [method, path] of [
      ["POST", "/open/workspaces"],
      ["PATCH", `/open/workspaces/${ids.workspaceId}`],
      ["GET", "/open/me"],
    ] as const) {
      const { status, body: answer } = await send(method, path, body);
      expect([status, answer.error]).toEqual([
        400,
        expect.objectContaining({
          code: "BAD_REQUEST",
          message: "The body must be a JSON object",
          issues: [{ path: "", code: "invalid_type", message: "The body must be a JSON object" }],
        }),
      ]);
    }
  },
);

test.each([
  ["a name", '{"name":"\\ud83d"}', "name"],
  ["an unknown field", '{"name":"x","a":[{"b":"\\udc00"}]}', "a.0.b"],
  ["the name of a member", '{"name":"x","\\ud800":1}', "\ud800"],
])("a lone surrogate in %s is rejected", async (_what, body, path) => {
  const { status, body: answer } = await create(body);
  expect([status, answer.error.issues]).toEqual([
    400,
    [{ path, code: "invalid_characters", message: expect.any(String) }],
  ]);
});

/** The query parameters that an endpoint requires. */
function requiredQuery({ request }: (typeof endpoints)[number]): string {
  const { shape = {} } = request.query ?? {};
  if ("days" in shape) return "?days=365";
  if ("from" in shape && "bucket" in shape)
    return `?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z&bucket=hour${"groupBy" in shape ? "&groupBy=key" : ""}`;
  return "";
}

describe.each(endpoints.filter(({ request }) => !request.body))("$operationId has no body", (endpoint) => {
  const { method } = endpoint;
  const path = () =>
    `/open${endpoint.path.replace(/:(\w+)/g, (_match, name: string) => ids[name] ?? "")}${requiredQuery(endpoint)}`;

  test("and rejects each field of a body by name", async () => {
    const { status, body } = await send(method, path(), '{"a":1,"b":{"c":2}}');
    expect([status, body.error.issues]).toEqual([
      400,
      ["a", "b"].map((name) => ({ path: name, code: "unknown_member", message: "Unknown field" })),
    ]);
    if (method !== "GET") expect((await send("GET", "/open/me", undefined)).status).toBe(200);
  });

  test("and rejects a body that isn't JSON", async () => {
    expect((await send(method, path(), "{")).status).toBe(400);
    expect((await send(method, path(), "a=1", { "Content-Type": "text/plain" })).status).toBe(415);
  });
});

test.each([
  ["an empty object", "{}", {}],
  ["an empty body", "", {}],
  ["a chunked body without chunks", undefined, { "Transfer-Encoding": "chunked" }],
])("%s is accepted by endpoints without a body", async (_what, body, headers) => {
  for (const path of ["/open/me", "/open/global/config", "/open/workspaces"])
    expect((await send("GET", path, body, headers as Record<string, string>)).status).toBe(200);
});

test("no body has caused an error in the log", () => {
  expect(app.readLog()).not.toContain('"level":50');
});

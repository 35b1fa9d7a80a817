import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
let secret: string;
let keyId: string;
beforeAll(async () => {
  app = await startTestApp();
  const key = await app.addKey();
  secret = key.secret;
  keyId = encodeId("key", key.id);
  for (let count = 0; count < 30; count += 1) {
    const newKey = {
      userId: key.userId,
      name: `Key ${count}`,
      description: "For a long list.",
      origin: commandOrigin,
    };
    await app.services.db.transaction().execute((trx) => createKey(trx, newKey, defaultQuotas));
  }
});
afterAll(() => app.close());

/** Sends a request without adding headers, and doesn't decompress the response. */
async function send(path: string, headers: Record<string, string>, method = "GET") {
  const authorization = path.startsWith("/open/") ? { Authorization: `Bearer ${secret}` } : {};
  const outgoing = request(app.baseUrl + path, { method, headers: { ...authorization, ...headers } });
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) };
}

const decode = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
} as const;

test.each([
  ["br", "br"],
  ["gzip", "gzip"],
  ["gzip, deflate, br, zstd", "br"],
] as const)(
  "a long list for a client that accepts %s is compressed with %s, and decompresses to the same list",
  async (accepted, encoding) => {
    const path = "/open/api-keys?limit=30&sort=createdAt";
    const plain = await send(path, {});
    const packed = await send(path, { "Accept-Encoding": accepted });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(packed.headers["content-encoding"]).toBe(encoding);
    expect(packed.headers["content-length"]).toBe(String(packed.bytes.length));
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 4);
    const [one, other] = [plain.bytes, decode[encoding](packed.bytes)].map((bytes) =>
      JSON.parse(String(bytes)),
    );
    expect(other.data.slice(1)).toEqual(one.data.slice(1));
    for (const { headers } of [plain, packed]) {
      expect(headers.vary).toBe("Accept-Encoding");
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    }
    const head = await send(path, { "Accept-Encoding": accepted }, "HEAD");
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
  },
);

test.each(["identity", "br;q=0, gzip;q=0", "zstd", "*;q=0, identity"])(
  "a long list is not compressed for a client that accepts %s",
  async (accepted) => {
    const { headers, bytes } = await send("/open/api-keys?limit=30", { "Accept-Encoding": accepted });
    expect(headers["content-encoding"]).toBeUndefined();
    expect(JSON.parse(String(bytes)).data).toHaveLength(30);
  },
);

test("short responses, and responses that aren't lists, are never compressed", async () => {
  const accepted = { "Accept-Encoding": "br, gzip" };
  for (const path of [
    "/open/api-keys?limit=1",
    "/open/me",
    "/open/global/config",
    `/open/api-keys/${keyId}`,
  ]) {
    const { status, headers } = await send(path, accepted);
    expect([path, status, headers["content-encoding"]]).toEqual([path, 200, undefined]);
    if (!path.includes("?")) expect(headers.vary).toBeUndefined();
  }
});

test("only lists are compressible, and none of them contains a secret", () => {
  const compressible = endpoints.filter(({ isCompressible }) => isCompressible);
  expect(compressible.map(({ operationId }) => operationId)).toEqual([
    "listNotices",
    "listApiKeys",
    "getApiKeyUsage",
    "listWorkspaces",
    "listMembers",
    "listAffectedApiKeys",
    "listServiceAccounts",
    "listServiceAccountApiKeys",
    "listInvitations",
    "listKeyspaces",
    "getKeyspaceUsage",
    "listIssuedKeys",
    "listConsumers",
    "listIssuedKeyRejections",
    "listWebhooks",
    "listWebhookDeliveries",
    "listWorkspaceApiKeys",
    "previewApiKeyPolicy",
    "listAuditEvents",
  ]);
  for (const { method, secrets } of compressible) expect([method, secrets]).toEqual(["GET", undefined]);
});

test("results of tRPC queries are compressed, results of mutations aren't", async () => {
  const path = "/trpc/instance.permissions";
  const plain = await send(path, {});
  const packed = await send(path, { "Accept-Encoding": "gzip, br" });
  expect([plain, packed].map(({ headers }) => headers["content-encoding"])).toEqual([undefined, "br"]);
  expect(packed.headers.vary).toContain("Accept-Encoding");
  expect(packed.headers["cache-control"]).toBe("no-store");
  expect(JSON.parse(String(decode.br(packed.bytes)))).toEqual(JSON.parse(String(plain.bytes)));
  const json = { "Accept-Encoding": "br", "Content-Type": "application/json", "Content-Length": "0" };
  const { status, headers } = await send("/trpc/session.signIn", json, "POST");
  expect([status, headers["content-encoding"]]).toEqual([400, undefined]);
});

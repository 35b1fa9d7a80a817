import { generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenidProvider, OpenidError, type OpenidProvider } from "./openid-provider.ts";

// ID tokens that are signed correctly but have unusual claims.

type Claims = Readonly<Record<string, unknown>>;

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
/** The claims of the next ID token. */
let claims: Claims = {};
let provider: OpenidProvider;

const server = createServer((request, response) => {
  const issuer = `http://${request.headers.host}`;
  const answers: Readonly<Record<string, () => unknown>> = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    }),
    "/jwks": () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), alg: "RS256", use: "sig" }] }),
    "/token": () => ({ access_token: "token", token_type: "Bearer", id_token: createToken(issuer) }),
  };
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify(answers[request.url ?? ""]?.()));
});

function createToken(iss: string): string {
  const iat = Math.floor(Date.now() / 1_000);
  const payload = {
    iss,
    aud: "latchkey",
    iat,
    exp: iat + 60,
    sub: "ada",
    email: "ada@example.com",
    ...claims,
  };
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ alg: "RS256" })}.${encode(payload)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const issuer = `http://127.0.0.1:${port}`;
  provider = createOpenidProvider(
    { issuer, clientId: "latchkey", clientSecret: "a client secret for tests", name: "Example ID" },
    { baseUrl: "http://localhost:4000", secret: "a secret for tests" },
  );
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

async function read(changes: Claims) {
  const options = { forcesReauthentication: false };
  const { searchParams } = new URL(await provider.createUrl("token", options));
  claims = { nonce: searchParams.get("nonce"), ...changes };
  const state = searchParams.get("state") ?? "";
  return await provider.readClaims("token", { code: "code", state }, options);
}

test.each(["a", "auth0|6f1c", "cn=Ada Lovelace, ou=Staff", "~".repeat(255)])(
  "the subject %j is accepted",
  async (sub) => {
    expect(await read({ sub })).toMatchObject({ subject: sub, email: "ada@example.com" });
  },
);

test.each([
  ["an empty subject", ""],
  ["a subject of 256 characters", "a".repeat(256)],
  ["U+0000", "a\0b"],
  ["a line break", "ada\n"],
  ["a letter that isn't ASCII", "adé"],
  ["a lone surrogate", "c\ud801"],
  ["a number", 1],
])("%s is rejected", async (_what, sub) => {
  await expect(read({ sub })).rejects.toThrow(OpenidError);
});

test("an auth_time is in seconds, and one that isn't a time is rejected", async () => {
  expect((await read({ auth_time: 1_800_000_000 })).authenticatedAt).toEqual(new Date(1_800_000_000_000));
  expect((await read({})).authenticatedAt).toBeUndefined();
  for (const time of [1e300, -5, "1800000000"])
    await expect(read({ auth_time: time })).rejects.toThrow(OpenidError);
});

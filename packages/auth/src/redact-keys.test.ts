import { expect, test } from "vitest";
import { createApiKey, createIssuedKey } from "./key-format.ts";
import { redactKeys } from "./redact-keys.ts";

const { secret } = createApiKey();
const encodeAll = (text: string) => text.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);
const encodeAgain = (text: string) => text.replaceAll("%", "%25");

test.each([
  ["a key alone", secret, "lk_…"],
  ["keys in a sentence", `Bearer ${secret}, ${secret}`, "Bearer lk_…, lk_…"],
  ["a key in a path", `/open/api-keys/${secret}/rotate`, "/open/api-keys/lk_…/rotate"],
  ["a key inside a word", `x${secret}y`, "xlk_…y"],
  ["an encoded underscore", `/open/${secret.replace("_", "%5f")}`, "/open/lk_…"],
  ["an encoded underscore in capitals", `/open/${secret.replace("_", "%5F")}`, "/open/lk_…"],
  ["an encoded key", `/open/${encodeAll(secret)}?a=%20b`, "/open/lk_…?a=%20b"],
  ["a key encoded twice", `/open/${encodeAgain(encodeAll(secret))}`, "/open/lk_…"],
  [
    "a key encoded five times",
    `/open/${encodeAgain(encodeAgain(encodeAgain(encodeAgain(encodeAll(secret)))))}`,
    "/open/lk_…",
  ],
  [
    "one encoded character in the middle",
    `${secret.slice(0, 20)}${encodeAll(secret.charAt(20))}${secret.slice(21)}`,
    "lk_…",
  ],
])("redacts %s", (_what, text, redacted) => {
  expect(redactKeys(text)).toBe(redacted);
});

const issued = (prefix: string) => createIssuedKey(prefix).secret;
const { secret: acme } = createIssuedKey("acme");

test.each([
  ["an issued key", issued("acme"), "acme_…"],
  ["a prefix with underscores", issued("sk_live"), "sk_live_…"],
  ["a prefix of underscores", issued("__"), "___…"],
  ["the shortest prefix", issued("ab"), "ab_…"],
  ["the longest prefix", issued("a".repeat(16)), `${"a".repeat(16)}_…`],
  ["keys in a sentence", `Use ${issued("acme")}, not ${issued("beta")}.`, "Use acme_…, not beta_…."],
  ["a key inside a word", `x${issued("acme")}y`, "xacme_…y"],
  ["a key after another", issued("acme") + issued("acme"), "acme_…acme_…"],
  ["an encoded issued key", encodeAgain(encodeAll(issued("acme"))), "acme_…"],
  ["an API key with a typo", `${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}`, "lk_…"],
])("redacts %s of a keyspace", (_what, text, redacted) => {
  expect(redactKeys(text)).toBe(redacted);
});

test.each([
  "",
  "lk_",
  `Acme_${acme.slice(5)}`,
  `acme_${"0".repeat(36)}`,
  `x_${acme.slice(5)}`,
  acme.slice(0, -1),
  "/open/a%2Fb%20c",
  "100%",
  "%zz%",
  `%41${"x".repeat(40)}`,
  // No keyspace has a prefix with capitals.
  createIssuedKey("AB", Buffer.alloc).secret,
  secret.slice(0, -1),
  "key_01h455vb4pex5vsknk084sn02q",
])("does not change '%s'", (text) => expect(redactKeys(text)).toBe(text));

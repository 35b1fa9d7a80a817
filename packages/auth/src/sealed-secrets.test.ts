import { expect, test } from "vitest";
import { SealedSecrets } from "./sealed-secrets.ts";

const authSecret = "a secret of at least 32 characters";
const secrets = new SealedSecrets(authSecret, "test");

test("opens what it sealed, even on another node with the same secret", () => {
  const sealed = secrets.seal("owner", "whsec_ä");
  expect(sealed.includes("whsec")).toBe(false);
  expect(new SealedSecrets(authSecret, "test").open("owner", sealed)).toBe("whsec_ä");
});

test("seals the same secret differently each time", () => {
  expect(secrets.seal("owner", "same").equals(secrets.seal("owner", "same"))).toBe(false);
});

test("opens nothing that was changed, cut, or sealed for another owner or purpose or with another secret", () => {
  const sealed = secrets.seal("owner", "secret");
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => secrets.open("owner", changed)).toThrow();
  }
  expect(() => secrets.open("owner", sealed.subarray(0, 20))).toThrow();
  expect(() => secrets.open("another", sealed)).toThrow();
  expect(() => new SealedSecrets("another", "test").open("owner", sealed)).toThrow();
  expect(() => new SealedSecrets(authSecret, "another").open("owner", sealed)).toThrow();
});

test("opens what an earlier version sealed", () => {
  const sealed = Buffer.from("AAECAwQFBgcICQoLJDmllcxTSWJeKbon15bciBqBapHNzQ==", "base64");
  expect(secrets.open("owner", sealed)).toBe("golden");
});

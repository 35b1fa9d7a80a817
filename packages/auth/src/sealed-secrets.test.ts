import { expect, test } from "vitest";
import { createSealedSecrets } from "./sealed-secrets.ts";

const options = { secret: "a secret of at least 32 characters", purpose: "test" };
const secrets = createSealedSecrets(options);

test("opens what it sealed, also on another node with the same secret", () => {
  const sealed = secrets.seal("whsec_ä");
  expect(sealed.includes("whsec")).toBe(false);
  expect(createSealedSecrets(options).open(sealed)).toBe("whsec_ä");
});

test("seals the same secret differently each time", () => {
  expect(secrets.seal("same").equals(secrets.seal("same"))).toBe(false);
});

test("opens nothing that was changed, cut, or sealed with another secret or for another purpose", () => {
  const sealed = secrets.seal("secret");
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => secrets.open(changed)).toThrow();
  }
  expect(() => secrets.open(sealed.subarray(0, 20))).toThrow();
  expect(() => createSealedSecrets({ ...options, secret: "another" }).open(sealed)).toThrow();
  expect(() => createSealedSecrets({ ...options, purpose: "another" }).open(sealed)).toThrow();
});

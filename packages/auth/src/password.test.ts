import { expect, test } from "vitest";
import { hashPassword, verifyPassword } from "./password.ts";

test("hashes with argon2id, 19 MiB, two passes, one lane and a new salt", async () => {
  const [first, second] = await Promise.all([hashPassword("correct horse"), hashPassword("correct horse")]);
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(first).not.toBe(second);
  expect(await verifyPassword(first, "correct horse")).toBe(true);
  expect(await verifyPassword(first, "correct horsf")).toBe(false);
});

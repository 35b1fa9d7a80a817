import { expect, test } from "vitest";
import { emailChangedMail, emailChangeMail, resetMail, verificationMail } from "./mails.ts";

const email = "somebody@example.com";
const name = "Your account is locked. Open https://attacker.example";
const link = { url: "https://keys.example.com/link#token", baseUrl: "https://keys.example.com" };

test.each([
  ["verifies an email address", verificationMail({ email }, link)],
  ["confirms a new email address", emailChangeMail({ email }, link)],
  ["says that the email address was changed", emailChangedMail({ email }, link.baseUrl)],
  [
    "resets the password of an account whose email address is unverified",
    resetMail({ email, name, removesAccess: true }, link),
  ],
])("an email that %s doesn't have the name of the account", (_what, { to, text }) => {
  expect(to).toBe(email);
  expect(text[0]).toBe("Hello,");
  expect(text.join("\n")).toContain(link.baseUrl);
  expect(text.join("\n")).not.toContain(name);
});

test("an email that resets the password of an account whose email address is verified names the user", () => {
  const mail = resetMail({ email, name: "Grace Hopper", removesAccess: false }, link);
  expect(mail.text[0]).toBe("Hello Grace Hopper,");
});

import { expect, test } from "vitest";
import { emptyWebhook, fieldsOf, webhookRules } from "./webhook-values.ts";

test.each([
  ["https://example.com/hook", null],
  [" https://example.com ", null],
  ["http://10.0.0.7:8080", null],
  ["", /Enter a URL/],
  ["example.com", /Enter a URL/],
  ["ftp://example.com", /Enter a URL/],
  ["https://user@example.com", /user name/],
  ["https://example.com/#x", /after “#”/],
  [`https://example.com/${"x".repeat(2_048)}`, /at most|Use/],
])("the URL %s", (url, error) => {
  const shown = webhookRules.url(url);
  if (error) expect(shown).toMatch(error);
  else expect(shown).toBeNull();
});

test('"Selected events" requires at least one event; "All events" requires none', () => {
  const selected = { ...emptyWebhook, hasAllActions: false };
  expect(webhookRules.actions([], selected)).toBe("Select at least one event.");
  expect(webhookRules.actions(["member.added"], selected)).toBeNull();
  expect(webhookRules.actions([], emptyWebhook)).toBeNull();
});

test("the API gets null for all events", () => {
  const values = { url: " https://example.com ", description: " x ", actions: ["member.added"] } as const;
  expect(fieldsOf({ ...values, hasAllActions: true })).toEqual({
    url: "https://example.com",
    description: "x",
    actions: null,
  });
  expect(fieldsOf({ ...values, hasAllActions: false }).actions).toEqual(["member.added"]);
});

import { expect, test } from "vitest";
import { describeAccountEvent } from "./describe-account-event.ts";

test("says that a value wasn't recorded instead of quoting a placeholder", () => {
  const event = { action: "account.renamed", before: null, after: { name: "Ada" }, device: null } as const;
  expect(describeAccountEvent(event)).toEqual([
    "Changed your name from ",
    "a value that wasn’t recorded",
    " to ",
    { name: "“Ada”" },
  ]);
});

test.each([
  [{ kind: "new-device", inApp: false }, "new device", " off in the app"],
  [{ kind: "invitation", byEmail: true }, "invitation", " on by email"],
  [{ kind: "role-changed", inApp: true, byEmail: false }, "role changed", " on in the app and off by email"],
  // A newer node may send a kind that this version doesn't know.
  [{ kind: "new-kind", inApp: false }, "new kind", " off in the app"],
])("says how a notice was turned on or off: %j", (after, title, channels) => {
  const event = { action: "notice-setting.changed", before: null, after, device: null } as const;
  expect(describeAccountEvent(event)).toEqual(["Turned the notice ", { name: `“${title}”` }, channels]);
});

test("shows the name of an action that a newer node sent", () => {
  const event = { action: "account.teleported", before: null, after: null, device: null };
  expect(describeAccountEvent(event as unknown as Parameters<typeof describeAccountEvent>[0])).toEqual([
    "account.teleported",
  ]);
});

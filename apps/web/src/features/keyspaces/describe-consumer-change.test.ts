import { expect, test } from "vitest";
import { describeConsumerChange } from "./describe-consumer-change.ts";

test("says how many keys of a consumer stop working", () => {
  const disabling = (activeKeyCount: number) => describeConsumerChange("disable", { activeKeyCount });
  const when = "working from the next request, on every service that verifies";
  expect(disabling(0)).toBe("None of the keys is active, so none stops working. You can enable them again.");
  expect(disabling(1)).toBe(`1 key stops ${when} it. You can enable them again.`);
  expect(disabling(2)).toBe(`2 keys stop ${when} them. You can enable them again.`);
  expect(describeConsumerChange("delete", { activeKeyCount: 1 })).toBe(
    `1 key stops ${when} it. This can’t be undone.`,
  );
  expect(describeConsumerChange("enable", { activeKeyCount: 1 })).toBe(
    "Keys that are disabled become valid again, unless they have expired or are out of credits.",
  );
});

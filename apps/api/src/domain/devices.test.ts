import { expect, test } from "vitest";
import { describeDevice, parseDevice } from "./devices.ts";

test("names the browser and the operating system of a User-Agent", () => {
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  expect(parseDevice(firefox)).toEqual({ browser: "Firefox 140", system: "Linux" });
  expect(describeDevice(firefox)).toBe("Firefox on Linux");
});

test("shows at most 40 characters of a name that a stranger chose", () => {
  const text = `${"Your account is locked. ".repeat(5)}/1.0 call`;
  expect(parseDevice(text).browser?.length).toBeLessThanOrEqual(42); // With the version.
  expect(describeDevice(text)).toHaveLength(40);
});

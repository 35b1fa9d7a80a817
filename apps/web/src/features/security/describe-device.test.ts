import { expect, test } from "vitest";
import { describeDevice } from "./describe-device.ts";

test.each([
  [{ browser: "Chrome 141", system: "macOS" }, "Chrome 141 on macOS"],
  [{ browser: "Chrome 141", system: null }, "Chrome 141"],
  [{ browser: null, system: "macOS" }, "macOS"],
  [{ browser: null, system: null }, "Unknown device"],
])("describes %o", (device, text) => {
  expect(describeDevice(device)).toBe(text);
});

import { expect, test } from "vitest";
import { createDeviceId, deviceCookie, readDeviceId } from "./known-device.ts";

const [http, https] = [{ isSecure: false }, { isSecure: true }];
const sent = (cookie: string) => new Headers({ Cookie: cookie });

test("a device is known by a cookie that scripts can't read and other sites don't send", () => {
  const id = createDeviceId();
  expect(deviceCookie(id, https)).toBe(
    `__Host-latchkey-device=${id}; Max-Age=7776000; Path=/; HttpOnly; SameSite=Strict; Secure`,
  );
  expect(deviceCookie(id, http)).toBe(
    `latchkey-device=${id}; Max-Age=7776000; Path=/; HttpOnly; SameSite=Strict`,
  );
});

test("finds the cookie among others, by its name for the scheme", () => {
  const id = createDeviceId();
  expect(readDeviceId(sent(`a=b; __Host-latchkey-device=${id}; c=d`), https)).toBe(id);
  expect(readDeviceId(sent(`latchkey-device=${id}`), http)).toBe(id);
  expect(readDeviceId(sent(`latchkey-device=${id}`), https)).toBeUndefined();
  expect(readDeviceId(new Headers(), http)).toBeUndefined();
});

test.each(["", "short", "x".repeat(33), "ä".repeat(32), `${"x".repeat(31)} `])(
  "ignores a device ID with the wrong format: %j",
  (value) => {
    expect(readDeviceId(sent(`latchkey-device=${value}`), http)).toBeUndefined();
  },
);

test("device IDs are random", () => {
  expect(new Set(Array.from({ length: 100 }, createDeviceId)).size).toBe(100);
});

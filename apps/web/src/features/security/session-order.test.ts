import { expect, test } from "vitest";
import { findSessions, sortSessions } from "./session-order.ts";

const chrome = {
  device: { browser: "Chrome 141", system: "Linux" },
  lastUsedAt: "2026-03-03T00:00:00.000Z",
  createdAt: "2026-03-01T00:00:00.000Z",
};
const firefox = {
  device: { browser: "Firefox 140", system: "macOS" },
  lastUsedAt: "2026-03-02T00:00:00.000Z",
  createdAt: "2026-03-02T00:00:00.000Z",
};
const sessions = [firefox, chrome];

test("keeps the order of the API without a chosen one", () => {
  expect(sortSessions(sessions, undefined)).toEqual([firefox, chrome]);
});

test.each([
  ["device", [chrome, firefox]],
  ["-device", [firefox, chrome]],
  ["lastUsedAt", [firefox, chrome]],
  ["createdAt", [chrome, firefox]],
  ["-createdAt", [firefox, chrome]],
])("sorts by %s", (sort, expected) => {
  expect(sortSessions(sessions, sort)).toEqual(expected);
});

test.each([
  ["", ["192.0.2.1", null]],
  [" MACOS ", [null]],
  ["2.0.2", ["192.0.2.1"]],
  ["opera", []],
])("finds sessions by device and IP address: %s", (search, expected) => {
  const found = findSessions(
    [
      { ...chrome, address: "192.0.2.1" },
      { ...firefox, address: null },
    ],
    search,
  );
  expect(found.map(({ address }) => address)).toEqual(expected);
});

import { expect, test } from "vitest";
import { keepInput } from "./keep-input.ts";

const base = { name: "Acme", quota: "5", window: "60" };
const groups = [["quota", "window"]] as const;

test("fields that weren't edited get the latest values", () => {
  const input = { ...base, name: "Acme Ltd" };
  const latest = { name: "ACME", quota: "100", window: "86400" };
  expect(keepInput({ base, input, latest, groups })).toEqual({ ...latest, name: "Acme Ltd" });
});

test("fields of one setting keep their input together", () => {
  const input = { ...base, quota: "7" };
  const latest = { ...base, name: "ACME", window: "86400" };
  expect(keepInput({ base, input, latest, groups })).toEqual({ name: "ACME", quota: "7", window: "60" });
  expect(keepInput({ base, input, latest, groups: [] })).toMatchObject({ window: "86400" });
});

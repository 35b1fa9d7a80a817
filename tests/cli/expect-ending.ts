import { expect } from "vitest";
import type { Ending } from "../support/product.ts";

/** What a command that worked printed with --json. */
export function expectResult({ status, stdout, stderr }: Ending): Record<string, unknown> {
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stdout);
}

/** What a command that worked printed for people. */
export function expectText({ status, stdout, stderr }: Ending): string {
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

export function expectFailure(
  ending: Ending,
  expected: { readonly status: 1 | 2; readonly code: string; readonly message: RegExp | string },
): void {
  expect(ending.stdout).toBe("");
  expect(ending.stderr).toMatch(/^\{.*\}\n$/);
  const { code, message } = expected;
  expect(JSON.parse(ending.stderr)).toEqual({
    error: { code, message: typeof message === "string" ? message : expect.stringMatching(message) },
  });
  expect(ending.status).toBe(expected.status);
}

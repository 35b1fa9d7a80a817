import { expect } from "vitest";
import type { ProcessResult } from "../support/product.ts";

/** Returns what a successful command printed with --json. */
export function expectResult({ status, stdout, stderr }: ProcessResult): Record<string, unknown> {
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^\{.*\}\n$/);
  return JSON.parse(stdout);
}

/** Returns what a successful command printed without --json. */
export function expectText({ status, stdout, stderr }: ProcessResult): string {
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

export function expectFailure(
  ending: ProcessResult,
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

import { expect, test } from "vitest";
import { checkWorkspaceName } from "./workspace-name.ts";

test("asks for a name that is more than spaces, of at most 100 characters", () => {
  expect(checkWorkspaceName(" \u00a0\t")).toBe("Enter a name, such as that of your team.");
  expect(checkWorkspaceName("a".repeat(100))).toBeNull();
  expect(checkWorkspaceName("a".repeat(101))).toBe("Use at most 100 characters; these are 101.");
});

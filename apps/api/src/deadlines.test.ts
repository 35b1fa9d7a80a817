import { expect, test } from "vitest";
import { defaultDeadlines } from "./deadlines.ts";

// The expected values are literals, because other tests replace the deadlines or read them from here.
test("every deadline of a node is the intended one", () => {
  expect(defaultDeadlines).toEqual({
    responseMs: 1_800,
    queueMs: 5_000,
    admission: { deadlineMs: 1_500, statementTimeoutMs: 1_400, connectTimeoutMs: 1_000 },
    verification: { deadlineMs: 1_500, statementTimeoutMs: 700, connectTimeoutMs: 1_000 },
    changes: { statementTimeoutMs: 5_000, connectTimeoutMs: 1_500 },
    reads: { statementTimeoutMs: 1_000, connectTimeoutMs: 1_500 },
  });
});

import { expect, test } from "vitest";
import { defaultDeadlines } from "./deadlines.ts";

// The expected values are literals, because other tests replace the deadlines or read them from here.
test("every deadline of a node is the intended one", () => {
  const verdict = { deadlineMs: 1_500, connectTimeoutMs: 1_000, idleTransactionTimeoutMs: 900 };
  expect(defaultDeadlines).toEqual({
    responseMs: 1_800,
    queueMs: 5_000,
    admission: { ...verdict, statementTimeoutMs: 1_400 },
    verification: { ...verdict, statementTimeoutMs: 700 },
    changes: { statementTimeoutMs: 5_000, connectTimeoutMs: 1_500 },
    reads: { statementTimeoutMs: 1_000, connectTimeoutMs: 1_500 },
  });
});

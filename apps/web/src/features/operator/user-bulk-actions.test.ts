import { TRPCClientError } from "@trpc/client";
import { expect, test } from "vitest";
import { runBulkChange } from "../../ui/run-bulk-change.ts";
import { bulkUsers } from "./user-bulk-actions.ts";

test("a change of users fails if the API responds to a former operator that there is no such procedure", async () => {
  const names = ["Ada", "Grace"];
  const notFound = { error: { code: -32004, message: "Not found", data: { code: "NOT_FOUND" } } };
  const runs = names.map(() => () => Promise.reject(TRPCClientError.from(notFound)));
  const change = { names, runs, describeError: bulkUsers.describeError };
  const { done, failures } = await runBulkChange(change, () => {});
  const message = "The user was deleted, or you are no longer an operator.";
  expect({ done, failures }).toMatchObject({ done: 0, failures: [{ message }, { message }] });
});

import { type DataTag, QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { replaceData } from "./replace-data.ts";

test("keeps the new data although a call from before the change responds afterwards", async () => {
  const queryClient = new QueryClient();
  const queryKey = ["key"] as DataTag<["key"], string, unknown>; // As the keys of tRPC.
  const response = Promise.withResolvers<string>();
  queryClient.setQueryData(queryKey, "old");
  const query = new QueryObserver(queryClient, { queryKey, queryFn: () => response.promise });
  const stop = query.subscribe(() => undefined);
  expect(query.getCurrentResult().fetchStatus).toBe("fetching");
  await replaceData(queryClient, queryKey, "new");
  response.resolve("old");
  await response.promise;
  // The continuations of the call run before a timer.
  await new Promise((resolve) => setTimeout(resolve));
  expect(query.getCurrentResult()).toMatchObject({ data: "new", status: "success", fetchStatus: "idle" });
  stop();
});

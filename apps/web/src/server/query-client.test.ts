import { MutationObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { queryClient } from "./query-client.ts";

test("keeps nothing of a mutation after its form was closed", async () => {
  const createSecret = new MutationObserver(queryClient, {
    mutationFn: async (password: string) => `the secret for ${password}`,
  });
  const close = createSecret.subscribe(() => undefined);
  await createSecret.mutate("a password");
  const cached = () => queryClient.getMutationCache().getAll();
  expect(cached()).toMatchObject([{ state: { variables: "a password", status: "success" } }]);
  close();
  await expect.poll(cached).toEqual([]);
});

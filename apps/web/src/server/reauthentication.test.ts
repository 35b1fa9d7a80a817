import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient } from "@trpc/client";
import { afterEach, expect, test } from "vitest";
import { createLinks } from "./links.ts";
import { onReauthentication } from "./reauthentication.ts";

const message = "Confirm that it’s you to continue.";
const rejection = {
  error: {
    message,
    code: -32_603,
    data: { code: "FORBIDDEN", issues: [{ path: "", code: "reauthentication_required", message }] },
  },
};

/** Returns a client whose session is recently authenticated once `confirm` was called, and the number of its requests. */
function createClient() {
  let isConfirmed = false;
  const requests: string[] = [];
  const fetch = async (url: RequestInfo | URL | string): Promise<Response> => {
    requests.push(String(url));
    const count = new URL(String(url)).pathname.split(",").length;
    return Response.json(
      Array.from({ length: count }, () => (isConfirmed ? { result: { data: null } } : rejection)),
    );
  };
  const client = createTRPCClient<AppRouter>({ links: createLinks({ url: "http://localhost/trpc", fetch }) });
  const confirm = () => {
    isConfirmed = true;
  };
  return { client, requests, confirm };
}

let stop = (): void => undefined;
afterEach(() => stop());

test("asks for the password once for calls at the same time, and repeats them", async () => {
  const { client, requests, confirm } = createClient();
  let questions = 0;
  stop = onReauthentication(async () => {
    questions += 1;
    confirm();
    return true;
  });
  await Promise.all([
    client.apiKeys.delete.mutate({ id: "one" }),
    client.apiKeys.delete.mutate({ id: "another" }),
  ]);
  expect(questions).toBe(1);
  expect(requests.length).toBeGreaterThanOrEqual(2);
});

test("fails with the API's error if the user cancels, if the call is rejected again, and if nothing can ask", async () => {
  const { client, requests } = createClient();
  const call = () => client.apiKeys.delete.mutate({ id: "one" });
  stop = onReauthentication(async () => false);
  await expect(call()).rejects.toThrow(message);
  expect(requests).toHaveLength(1);
  stop = onReauthentication(async () => true);
  await expect(call()).rejects.toThrow(message);
  expect(requests).toHaveLength(3);
  stop();
  await expect(call()).rejects.toThrow(message);
  expect(requests).toHaveLength(4);
});

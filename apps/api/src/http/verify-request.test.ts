import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { withoutOutcome } from "@latchkey/auth/verifier-answer";
import { AppError } from "@latchkey/errors";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Route } from "./open-routes.ts";
import { type VerificationGate, verifyRequest } from "./verify-request.ts";

// The parts that admit requests are replaced, so that a test decides when they answer. Time passes when the test says so.

const path = "/open/keys/verify";
const route = { endpoint: { verifies: { parse: () => [] } }, params: {} } as unknown as Route; // No other member is read.

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  return () => vi.useRealTimers();
});

/** Sends the headers of a request. `end` sends the body. */
function send(recognition: ReturnType<VerificationGate["verifier"]["recognize"]>) {
  const req = new IncomingMessage(new Socket());
  req.method = "POST";
  req.url = path;
  req.rawHeaders = ["Host", "x"];
  req.headers = { "content-type": "application/json", "content-length": "2" };
  const admit = vi.fn<VerificationGate["admission"]["admit"]>(async () => withoutOutcome.unavailable.verdict);
  const verify = vi.fn<VerificationGate["verifier"]["verify"]>(async () => withoutOutcome.unavailable);
  const gate = { admission: { admit }, verifier: { recognize: () => recognition, verify } };
  const call = { req, token: "token", route, path, address: "192.0.2.1" };
  return {
    admit,
    verify,
    answered: verifyRequest(gate, call),
    end(body: string) {
      req.push(body);
      req.push(null);
    },
  };
}

/** Lets time pass, in milliseconds. */
async function pass(milliseconds: number): Promise<void> {
  await turn();
  vi.advanceTimersByTime(milliseconds);
}

describe("a request whose key is not recognized is answered without admission and without its body,", () => {
  test.each(Object.entries(withoutOutcome))("because it is %s", async (_reason, answer) => {
    for (const recognition of [answer, Promise.resolve(answer)]) {
      const { admit, verify, answered } = send(recognition);
      expect(await answered).toEqual({ ...answer, request: undefined });
      expect([admit, verify].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
    }
  });
});

describe("the time of the lookup counts toward the deadline, and the time of the body doesn't,", () => {
  test("if the request is valid", async () => {
    const looked = Promise.withResolvers<undefined>();
    const { verify, answered, end } = send(looked.promise);
    await pass(1_400);
    looked.resolve(undefined);
    await pass(60_000);
    end("{}");
    await answered;
    expect(verify.mock.lastCall?.[2]).toBe(performance.now() - 1_400);
  });

  test("if the request is invalid", async () => {
    const looked = Promise.withResolvers<undefined>();
    const { admit, answered, end } = send(looked.promise);
    await pass(1_400);
    looked.resolve(undefined);
    await pass(60_000);
    end("[]");
    expect((await answered).request).toBeInstanceOf(AppError);
    expect(admit.mock.lastCall).toEqual(["token", undefined, "192.0.2.1", performance.now() - 1_400]);
  });

  test("if no lookup is needed", async () => {
    const { verify, answered, end } = send(undefined);
    await pass(60_000);
    end("{}");
    await answered;
    expect(verify.mock.lastCall?.[2]).toBe(performance.now());
  });
});

import { expect, test } from "vitest";
import { CallerCounts, type CallerState } from "./caller-counts.ts";

function createRequest(callerId: string, size = 1): CallerState & { isAnswered: boolean } {
  return { callerId, size, isAnswered: false, callerTotal: undefined };
}

const none = { requests: 0, size: 0 };

test("each pending request is counted once for its caller, whether it was pending before the start or is added later", () => {
  const pending = new CallerCounts();
  const [queued, inFlight, answered] = [createRequest("a", 4), createRequest("a"), createRequest("a")];
  answered.isAnswered = true;
  pending.add(queued);
  expect(pending.find("a")).toEqual(none);
  pending.start(() => [[queued], [inFlight, answered, queued]]);
  pending.add(createRequest("a", 2));
  pending.add(createRequest("b"));
  expect(pending.find("a")).toEqual({ requests: 3, size: 7 });
  expect(pending.find("b")).toEqual({ requests: 1, size: 1 });
  pending.remove(queued);
  pending.remove(answered);
  expect(pending.find("a")).toEqual({ requests: 2, size: 3 });
});

test("starting while it counts reads no list, and starting after a stop counts again", () => {
  const pending = new CallerCounts();
  const [first, second] = [createRequest("a"), createRequest("a")];
  pending.start(() => [[first, second]]);
  pending.start(() => {
    throw new Error("It is counting.");
  });
  pending.stop();
  expect(pending.find("a")).toEqual(none);
  pending.remove(second);
  const third = createRequest("a");
  pending.add(third);
  pending.start(() => [[first], [third, first]]);
  expect(pending.find("a")).toEqual({ requests: 2, size: 2 });
});

test("a caller without pending requests is removed, and counted again with the next request", () => {
  const pending = new CallerCounts();
  pending.start(() => []);
  const [idle, busy] = [createRequest("idle"), createRequest("busy")];
  for (const request of [idle, busy]) pending.add(request);
  pending.remove(idle);
  pending.removeIdle();
  const next = createRequest("idle");
  pending.add(next);
  expect(next.callerTotal).not.toBe(idle.callerTotal);
  expect([pending.find("idle").requests, pending.find("busy").requests]).toEqual([1, 1]);
});

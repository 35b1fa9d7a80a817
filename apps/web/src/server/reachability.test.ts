import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReachabilityMonitor } from "./reachability.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server that answers probes like this, one after the other; the last answer is repeated. */
function watch(answers: readonly (number | Error)[]) {
  const left = [...answers];
  const probe = vi.fn(async () => {
    const answer = left.length > 1 ? left.shift() : left[0];
    if (answer instanceof Error) throw answer;
    return answer ?? 200;
  });
  const onBack = vi.fn();
  const monitor = new ReachabilityMonitor({ probe, onBack });
  const states: string[] = [];
  monitor.subscribe(() => states.push(monitor.state));
  return { monitor, probe, onBack, states };
}

test("probes until the server is ready, and then says so once", async () => {
  const { monitor, probe, onBack, states } = watch([new Error("no answer"), 503, 200]);
  monitor.reportFailure();
  monitor.reportFailure();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(states).toEqual(["unreachable", "unavailable", "reachable"]);
  expect(probe).toHaveBeenCalledTimes(3);
  expect(onBack).toHaveBeenCalledTimes(1);
});

test("a failed call while the server is ready changes nothing, and is repeated after a pause", async () => {
  const { monitor, onBack, states } = watch([200]);
  monitor.reportFailure();
  await vi.advanceTimersByTimeAsync(1_999);
  expect(onBack).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onBack).toHaveBeenCalledTimes(1);
  expect(states).toEqual([]);
});

test("watches again after another failure", async () => {
  const { monitor, onBack } = watch([200]);
  for (const times of [1, 2]) {
    monitor.reportFailure();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onBack).toHaveBeenCalledTimes(times);
  }
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReachabilityMonitor } from "./reachability.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Monitors a server that returns these responses to probes, in order; the last one is repeated. */
function createMonitor(responses: readonly (number | Error)[]) {
  const remaining = [...responses];
  const probe = vi.fn(async () => {
    const response = remaining.length > 1 ? remaining.shift() : remaining[0];
    if (response instanceof Error) throw response;
    return response ?? 200;
  });
  const onRecovered = vi.fn();
  const monitor = new ReachabilityMonitor({ probe, onRecovered });
  const states: string[] = [];
  monitor.subscribe(() => states.push(monitor.state));
  return { monitor, probe, onRecovered, states };
}

test("probes until the server is ready, and then calls onRecovered once", async () => {
  const { monitor, probe, onRecovered, states } = createMonitor([new Error("no response"), 503, 200]);
  monitor.reportFailure();
  monitor.reportFailure();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(states).toEqual(["unreachable", "unavailable", "reachable"]);
  expect(probe).toHaveBeenCalledTimes(3);
  expect(onRecovered).toHaveBeenCalledTimes(1);
});

test("calls onRecovered after a pause if a call fails while the server is ready", async () => {
  const { monitor, onRecovered, states } = createMonitor([200]);
  monitor.reportFailure();
  await vi.advanceTimersByTimeAsync(1_999);
  expect(onRecovered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onRecovered).toHaveBeenCalledTimes(1);
  expect(states).toEqual([]);
});

test("monitors again after another failure", async () => {
  const { monitor, onRecovered } = createMonitor([200]);
  for (const times of [1, 2]) {
    monitor.reportFailure();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onRecovered).toHaveBeenCalledTimes(times);
  }
});

test("treats a server that doesn't respond to a probe as unreachable after 5 s", async () => {
  const monitor = new ReachabilityMonitor({
    probe: (signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    onRecovered: () => undefined,
  });
  monitor.reportFailure();
  await vi.advanceTimersByTimeAsync(4_999);
  expect(monitor.state).toBe("reachable");
  await vi.advanceTimersByTimeAsync(1);
  expect(monitor.state).toBe("unreachable");
});

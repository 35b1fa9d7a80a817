import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { measureStall, startIdleServer } from "./machine-stall.ts";

test("a server that stops responding by itself doesn't count as a busy machine", async () => {
  const { baseUrl, pid } = await startIdleServer();
  const stopMeasuring = await measureStall(baseUrl);
  process.kill(pid, "SIGSTOP");
  // A busy machine can stall the other idle server for seconds, and the result may be twice as long.
  const stoppedMs = 20_000;
  await delay(stoppedMs);
  process.kill(pid, "SIGCONT");
  const stallMs = await stopMeasuring();
  expect(stallMs).toBeGreaterThan(0);
  expect(stallMs).toBeLessThan(stoppedMs / 2);
  process.kill(pid);
});

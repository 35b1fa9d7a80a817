import { expect, test } from "vitest";
import { Interruption, untilInterrupted } from "./interruption.ts";

test("work that fails because of the signal ends by the signal", async () => {
  const listeners = process.listenerCount("SIGHUP");
  const running = untilInterrupted(async (interrupted) => {
    process.emit("SIGHUP", "SIGHUP");
    await interrupted.catch(() => undefined);
    throw new Error("Connection terminated");
  });
  await expect(running).rejects.toEqual(new Interruption("SIGHUP"));
  expect(process.listenerCount("SIGHUP")).toBe(listeners);
});

test("work that fails without a signal rejects with its own error", async () => {
  const failure = new Error("The disk is full");
  await expect(untilInterrupted(() => Promise.reject(failure))).rejects.toBe(failure);
});

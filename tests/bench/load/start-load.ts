import { fork } from "node:child_process";
import { join } from "node:path";
import { bareEnvironment } from "../../support/product.ts";
import type { LoadCommand, LoadOrder, LoadReport, LoadTotal, LoadWindow } from "./messages.ts";

/** A load under way, made by a fresh process. */
export interface RunningLoad {
  /** Counts from now on. */
  readonly open: () => void;
  /** Stops counting, and soon after sending. */
  readonly close: () => Promise<LoadWindow>;
  /** What it came to in all, once it has ended. */
  readonly ended: Promise<LoadTotal>;
}

/**
 * Without these a load of many keys would cost up to half as much again as one of one key, and what is measured would
 * depend on how the load is made. The threads that help the garbage collector take processor time of their own. And V8,
 * having seen that what the requests are made of stays, would put what each answer is made of where it is
 * collected late, for pauses of 25 ms.
 */
const execArgv = ["--single-threaded-gc", "--no-allocation-site-pretenuring"];

/**
 * Starts a load; settles when it is under way. Aborting the signal ends its process.
 * @throws an Error when anything but a 2xx comes back; from then on all that is awaited of the load fails.
 */
export async function startLoad(order: LoadOrder, signal: AbortSignal): Promise<RunningLoad> {
  const started = Promise.withResolvers<void>();
  const window = Promise.withResolvers<LoadWindow>();
  const total = Promise.withResolvers<LoadTotal>();
  const child = fork(join(import.meta.dirname, "generator.ts"), { env: bareEnvironment, execArgv, signal });
  let failure: Error | undefined;
  child.on("error", (error) => {
    failure = error;
  });
  child.on("message", (report: LoadReport) => {
    if (report.kind === "started") started.resolve();
    else if (report.kind === "window") window.resolve(report);
    else total.resolve(report);
  });
  child.on("close", () => {
    const error = failure ?? new Error("The load broke off.");
    for (const { promise, reject } of [started, window, total]) {
      promise.catch(() => undefined); // Whoever waits is told; not all of them are waited for.
      reject(error);
    }
  });
  const command = (word: LoadCommand): boolean => child.send(word);
  child.send(order);
  await started.promise;
  return {
    open: () => command("open"),
    close() {
      command("close");
      return window.promise;
    },
    ended: total.promise,
  };
}

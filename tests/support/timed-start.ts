import { measureSlowness } from "@latchkey/db/testing/processor-speed";
import { expect } from "vitest";
import type { ProductNode } from "./product.ts";

/** A start on an existing database. */
export interface TimedStart {
  readonly node: ProductNode;
  /** The greater result of {@link measureSlowness} before and after the start. */
  readonly slowness: number;
}

/** The most processor time of a start on the reference machine, in milliseconds. It takes 2 s if the machine is idle. */
const maxProcessorMs = 5_000;

/**
 * The longest start on the reference machine, without {@link ProductNode.startQueuedMs}, in milliseconds. It includes the work of Postgres,
 * which a busy machine delays too.
 */
const maxReadyMs = 10_000;

/** Starts a node, and measures how slow the processor is. */
export async function timeStart(start: () => Promise<ProductNode>): Promise<TimedStart> {
  const before = await measureSlowness();
  const node = await start();
  return { node, slowness: Math.max(before, await measureSlowness()) };
}

/** Expects that a node was ready soon after its start, on any processor. */
export function expectReadySoon({ node, slowness }: TimedStart): void {
  expect(node.startProcessorMs).toBeLessThan(maxProcessorMs * slowness);
  expect(node.readyWithinMs - node.startQueuedMs).toBeLessThan(maxReadyMs * slowness);
}

/** A remark about the start for the output of a test. */
export function describeStart({ node, slowness }: TimedStart): string {
  const { readyWithinMs, startProcessorMs } = node;
  return (
    `ready ${Math.round(readyWithinMs)} ms after its start, with ${startProcessorMs} ms of processor time, ` +
    `on a processor ${slowness.toFixed(1)} times as slow as that of the reference machine`
  );
}

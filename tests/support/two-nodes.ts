import { expect } from "vitest";
import { type Account, signUp } from "./account.ts";
import { createPreparedInstance } from "./prepared-instance.ts";
import type { ProductNode, SpawnOptions, Variables } from "./product.ts";
import type { TestInstance } from "./test-instance.ts";

/** Two nodes on one database, and a signed-up user. */
export interface TwoNodes {
  readonly instance: TestInstance;
  readonly left: ProductNode;
  /** The node that tests stop. A test that starts it again assigns it here. */
  right: ProductNode;
  readonly account: Account;
  readonly close: () => Promise<void>;
}

/**
 * If a part fails, releases the parts that were already created.
 * @param options.deadlines patient by default, because most tests aren't about deadlines.
 */
export async function startTwoNodes(
  variables: Variables = {},
  options: Pick<SpawnOptions, "deadlines"> = {},
): Promise<TwoNodes> {
  await using stack = new AsyncDisposableStack();
  const instance = await createPreparedInstance(variables, options);
  stack.defer(() => instance.close());
  const [left, right] = await Promise.all([instance.start(), instance.start()]);
  const account = await signUp(left.baseUrl);
  const parts = stack.move();
  return { instance, left, right, account, close: () => parts.disposeAsync() };
}

/** Expects that both nodes still run. The message of a failure has the last lines of a node that has exited. */
export function expectRunning({ left, right }: Pick<TwoNodes, "left" | "right">): void {
  for (const { process, output } of [left, right]) {
    const { exitCode, signalCode } = process;
    expect({ exitCode, signalCode }, output().slice(-2_000)).toEqual({ exitCode: null, signalCode: null });
  }
}

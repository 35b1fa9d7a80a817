import { copyData } from "@latchkey/db/testing/copy-data";
import { inject } from "vitest";
import type { SpawnOptions, Variables } from "./product.ts";
import { createTestInstance, type TestInstance } from "./test-instance.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A data directory with the newest schema and without users, which tests copy. */
    preparedData: string;
  }
}

/**
 * Creates an instance whose database exists, for tests of everything except the first start.
 * @param options.deadlines patient by default, because most tests aren't about deadlines.
 */
export async function createPreparedInstance(
  variables: Variables = {},
  { deadlines = "patient" }: Pick<SpawnOptions, "deadlines"> = {},
): Promise<TestInstance> {
  const instance = await createTestInstance(variables, { deadlines });
  await copyData(inject("preparedData"), instance.dataDirectory);
  return instance;
}

/** A node with a temporary data directory, which `stop` deletes. */
export interface Product {
  readonly baseUrl: string;
  readonly dataDirectory: string;
  readonly stop: () => Promise<void>;
}

/** Starts a node in this process, for tests of everything except processes: signals, output, crashes and memory. */
export async function startProduct(variables: Variables = {}): Promise<Product> {
  await using stack = new AsyncDisposableStack();
  const instance = await createPreparedInstance(variables);
  stack.defer(() => instance.close());
  const { baseUrl } = await instance.startInProcess();
  stack.move();
  return { baseUrl, dataDirectory: instance.dataDirectory, stop: instance.close };
}

import { copyData } from "@latchkey/db/testing/copy-data";
import { inject } from "vitest";
import { startNodeInProcess } from "./node-in-process.ts";
import type { Variables } from "./product.ts";
import { createTestInstance, type TestInstance } from "./test-instance.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A data directory with the newest schema and without users, which tests copy. */
    preparedData: string;
  }
}

/** Creates an instance whose database exists, for tests of everything except the first start. */
export async function createPreparedInstance(variables: Variables = {}): Promise<TestInstance> {
  const instance = await createTestInstance(variables);
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
  const { dataDirectory } = instance;
  const node = await startNodeInProcess({ DATA_DIR: dataDirectory, ...variables });
  stack.defer(() => node.stop());
  const parts = stack.move();
  return { baseUrl: node.baseUrl, dataDirectory, stop: () => parts.disposeAsync() };
}

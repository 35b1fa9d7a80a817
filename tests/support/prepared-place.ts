import { copyData } from "@latchkey/db/testing/copy-data";
import { inject } from "vitest";
import { createPlace, type Place } from "./place.ts";
import type { Variables } from "./product.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A data directory with the newest schema and nobody in it, to be copied. */
    preparedData: string;
  }
}

/** A place whose database exists, for tests of anything but the first start. */
export async function createPreparedPlace(variables: Variables = {}): Promise<Place> {
  const place = await createPlace(variables);
  await copyData(inject("preparedData"), place.dataDirectory);
  return place;
}

/** A node with a data directory of its own; both are gone after `stop`. */
export interface Product {
  readonly baseUrl: string;
  readonly dataDirectory: string;
  readonly stop: () => Promise<void>;
}

export async function startProduct(variables: Variables = {}): Promise<Product> {
  await using stack = new AsyncDisposableStack();
  const place = await createPreparedPlace(variables);
  stack.defer(() => place.close());
  const { baseUrl } = await place.start();
  stack.move();
  return { baseUrl, dataDirectory: place.dataDirectory, stop: place.close };
}

import { type Account, signUp } from "./account.ts";
import type { Place } from "./place.ts";
import { createPreparedPlace } from "./prepared-place.ts";
import type { ProductNode } from "./product.ts";

/** Two nodes on one database, and somebody who has signed up. */
export interface TwoNodes {
  readonly place: Place;
  readonly left: ProductNode;
  /** The one that tests end; whoever starts it again puts it here. */
  right: ProductNode;
  readonly account: Account;
  readonly close: () => Promise<void>;
}

/** Gives up what it has already made when a part of it fails. */
export async function startTwoNodes(): Promise<TwoNodes> {
  await using stack = new AsyncDisposableStack();
  const place = await createPreparedPlace();
  stack.defer(() => place.close());
  const [left, right] = await Promise.all([place.start(), place.start()]);
  const account = await signUp(left.baseUrl);
  const parts = stack.move();
  return { place, left, right, account, close: () => parts.disposeAsync() };
}

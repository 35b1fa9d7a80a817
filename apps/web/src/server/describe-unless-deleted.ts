import { describeFailure, type Failure } from "./failure.ts";

/** The failure of a bulk change of one item; undefined if the item was deleted concurrently. */
export function describeUnlessDeleted(error: unknown): Failure | undefined {
  const failure = describeFailure(error);
  return failure.code === "NOT_FOUND" ? undefined : failure;
}

/**
 * Passes a value to `next`: synchronously, or after the promise of the value is fulfilled. Requests that need no I/O
 * avoid promises this way (docs/decisions/0008).
 * @throws what `next` throws for a value that is not a promise.
 */
export function andThen<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * What `next` makes of a value: now where the value is there, later where it is promised. A request that waits for nobody
 * is spared the promises that way (docs/decisions/0008).
 * @throws what `next` throws of a value that is there.
 */
export function andThen<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

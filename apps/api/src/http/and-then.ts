/**
 * What `next` makes of a value: now where the value is there, later where it is promised. To await what is there costs
 * a request that nobody keeps waiting as much as a good part of its work (docs/decisions/0008).
 * @throws what `next` throws of a value that is there.
 */
export function andThen<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A pending change. It may take effect at any time between its beginning and its acknowledgment. */
export interface Change<Value> {
  readonly to: Value;
  /** Whether another change was acknowledged while this one was pending, so that their order is unknown. */
  isConcurrent: boolean;
}

/**
 * The possible values of something, given the changes that have begun and been acknowledged so far. A change that is
 * never acknowledged may take effect at any later time.
 */
export class UncertainValue<Value> {
  /** The possible values after the acknowledged changes. */
  #settled: ReadonlySet<Value>;
  readonly #pending = new Set<Change<Value>>();

  constructor(value: Value) {
    this.#settled = new Set([value]);
  }

  get possible(): ReadonlySet<Value> {
    return new Set([...this.#settled, ...[...this.#pending].map(({ to }) => to)]);
  }

  begin(to: Value): Change<Value> {
    const change: Change<Value> = { to, isConcurrent: false };
    this.#pending.add(change);
    return change;
  }

  /** The change has taken effect, so the values before it are no longer possible. */
  acknowledge(change: Change<Value>): void {
    this.#pending.delete(change);
    this.#settled = new Set(change.isConcurrent ? [...this.#settled, change.to] : [change.to]);
    for (const other of this.#pending) other.isConcurrent = true;
  }

  /** The change was rejected and never took effect. */
  cancel(change: Change<Value>): void {
    this.#pending.delete(change);
  }
}

/** A change under way: from its beginning until it is acknowledged it may take effect at any moment. */
export interface Change<Value> {
  readonly to: Value;
  /** Whether another change was acknowledged while this one was under way, so that nobody knows which came last. */
  hasCompany: boolean;
}

/**
 * A value in somebody else's hands: everything that it may be at this moment, by the changes that were begun and
 * acknowledged so far. A change that is never acknowledged may take effect for ever.
 */
export class Changing<Value> {
  /** What it may be by the changes that are over. */
  #settled: ReadonlySet<Value>;
  readonly #pending = new Set<Change<Value>>();

  constructor(value: Value) {
    this.#settled = new Set([value]);
  }

  get possible(): ReadonlySet<Value> {
    return new Set([...this.#settled, ...[...this.#pending].map(({ to }) => to)]);
  }

  begin(to: Value): Change<Value> {
    const change: Change<Value> = { to, hasCompany: false };
    this.#pending.add(change);
    return change;
  }

  /** The change has taken effect: what was settled before it began is no longer possible. */
  acknowledge(change: Change<Value>): void {
    this.#pending.delete(change);
    this.#settled = new Set(change.hasCompany ? [...this.#settled, change.to] : [change.to]);
    for (const other of this.#pending) other.hasCompany = true;
  }

  /** The change was refused: it has never taken effect. */
  cancel(change: Change<Value>): void {
    this.#pending.delete(change);
  }
}

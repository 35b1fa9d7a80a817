import { SizeClasses } from "./size-classes.ts";

/**
 * The entries of one owner: a linked list, in the order of their latest use. A map whose order is changed by each use would
 * allocate a new table now and then.
 */
interface Share<Value> {
  readonly owner: string;
  oldest: Entry<Value> | undefined;
  newest: Entry<Value> | undefined;
  size: number;
}

interface Entry<Value> {
  readonly key: string;
  value: Value;
  readonly size: number;
  /** How often the cache had been invalidated when it was added. */
  readonly epoch: number;
  readonly share: Share<Value>;
  older: Entry<Value> | undefined;
  newer: Entry<Value> | undefined;
}

/**
 * A cache with a limit that its owners share, in bytes or another unit. While there is room, an owner can use all of it. When it is
 * full, the entry that was used longest ago is removed from one of the owners that use the most, so that an owner with many entries
 * displaces its own and not those of others. The time of an operation doesn't depend on the number of owners and entries.
 */
export class FairCache<Value> {
  readonly #maxSize: number;
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #shares = new Map<string, Share<Value>>();
  /** The shares by size. */
  readonly #sizeClasses = new SizeClasses<Share<Value>>();
  #size = 0;
  /** How often the cache has been invalidated. */
  #epoch = 0;

  /** @param maxSize less than 2^32. */
  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** The number of owners that have an entry. */
  get ownerCount(): number {
    return this.#shares.size;
  }

  /** Returns a value even if it is from before an invalidation, without counting as a use of it. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Returns a value, which becomes the last one of its owner to be removed. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry?.epoch !== this.#epoch) return undefined;
    unlink(entry);
    append(entry);
    return entry.value;
  }

  /** @param options.size the size of the value, in the unit of the limit; at least 1. */
  set(key: string, value: Value, { owner, size }: { readonly owner: string; readonly size: number }): void {
    this.delete(key);
    if (size > this.#maxSize) return;
    const share = this.#shares.get(owner) ?? { owner, oldest: undefined, newest: undefined, size: 0 };
    const entry = { key, value, size, epoch: this.#epoch, share, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    append(entry);
    this.#resize(share, size);
    while (this.#size > this.#maxSize) this.#removeFromLargest();
  }

  /** Replaces a remembered value, unless it is from before an invalidation. @param value has the same owner and size. */
  replace(key: string, value: Value): void {
    const entry = this.#entries.get(key);
    if (entry?.epoch === this.#epoch) entry.value = value;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    unlink(entry);
    this.#resize(entry.share, -entry.size);
  }

  /** Invalidates all values. They occupy their place until they are replaced or removed. */
  invalidate(): void {
    this.#epoch += 1;
  }

  #removeFromLargest(): void {
    const oldest = this.#sizeClasses.findLargest()?.oldest;
    if (!oldest) throw new Error("The cache is too large, but has no entry to remove.");
    this.delete(oldest.key);
  }

  #resize(share: Share<Value>, difference: number): void {
    const change = { from: share.size, to: share.size + difference };
    this.#sizeClasses.move(share, change);
    share.size = change.to;
    this.#size += difference;
    if (!share.oldest) this.#shares.delete(share.owner);
    else this.#shares.set(share.owner, share);
  }
}

/** Makes an entry that is in no list the newest one of its share. */
function append<Value>(entry: Entry<Value>): void {
  const { share } = entry;
  entry.older = share.newest;
  if (share.newest) share.newest.newer = entry;
  else share.oldest = entry;
  share.newest = entry;
}

function unlink<Value>(entry: Entry<Value>): void {
  const { share, older, newer } = entry;
  if (older) older.newer = newer;
  else share.oldest = newer;
  if (newer) newer.older = older;
  else share.newest = older;
  entry.older = undefined;
  entry.newer = undefined;
}

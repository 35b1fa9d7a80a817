/** A source of repeatable choices. */
export interface Random {
  /** A number of at least 0 and less than 1. */
  readonly next: () => number;
  /** An integer from `min` to `max`. */
  readonly integer: (min: number, max: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** A random key of `weights`, with a probability proportional to its weight. */
  readonly weighted: <Name extends string>(weights: Readonly<Record<Name, number>>) => Name;
  /** A time from `from` to `to`. */
  readonly time: (from: Date, to: Date) => Date;
}

/** Creates a source whose choices are the same for the same seed (the mulberry32 generator). */
export function createRandom(seed: number): Random {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    pick: <Item>(items: readonly Item[]) => items[integer(0, items.length - 1)] as Item, // The index is valid.
    weighted: <Name extends string>(weights: Readonly<Record<Name, number>>) => {
      const entries = Object.entries<number>(weights) as [Name, number][]; // The names of the record.
      let rest = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        rest -= weight;
        if (rest < 0) return name;
      }
      return entries[0]?.[0] as Name; // Reached only by rounding.
    },
    time: (from, to) => new Date(from.getTime() + next() * (to.getTime() - from.getTime())),
  };
}

/**
 * Gathers items until their time has come, and then does the step for each, one right after the other: the same step of
 * many requests takes a fraction of the time that it takes between other steps (docs/decisions/0008).
 * @param schedule is told of the first item of each gathering; it is to call back when it is time.
 * @param step must not throw: the items after it would be lost.
 * @returns what takes an item.
 */
export function createBatcher<Item>(
  schedule: (callBack: () => void) => void,
  step: (item: Item) => void,
): (item: Item) => void {
  let gathered: Item[] = [];
  const takeStep = (): void => {
    const items = gathered;
    gathered = [];
    for (const item of items) step(item);
  };
  return (item) => {
    gathered.push(item);
    if (gathered.length === 1) schedule(takeStep);
  };
}

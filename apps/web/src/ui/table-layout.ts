/** The width of a column, and its rank if the width is limited. */
export interface ColumnLayout {
  readonly id: string;
  /** In pixels; at least 60, so that some text is always readable. */
  readonly minWidth: number;
  /** The share of the remaining width; 1 by default, 0 to stay at the minimum. */
  readonly grow?: number;
  /**
   * If the width is limited, columns with a higher rank are omitted first. The first column is
   * always shown. A column that is hidden by default is shown only if the user chose it, so it is
   * omitted last.
   */
  readonly rank: number;
  /** Whether the column is hidden unless the user chooses it. */
  readonly isHiddenByDefault?: boolean;
}

/** Cards replace rows below this width of the list, in pixels. */
const minTableWidth = 560;

export function isCards(width: number): boolean {
  return width < minTableWidth;
}

/** Returns the chosen columns, or the default columns. */
export function chooseColumns<Column extends ColumnLayout>(
  columns: readonly Column[],
  chosen: readonly string[] | undefined,
): readonly Column[] {
  return columns.filter(
    ({ id, isHiddenByDefault = false }, index) =>
      index === 0 || (chosen ? chosen.includes(id) : !isHiddenByDefault),
  );
}

/**
 * Returns the chosen columns that fit, with the width of each in pixels. In cards, all of them fit.
 * @param listWidth The width of the list, in pixels.
 * @param fixedWidth The part of it that the selection and the actions take.
 */
export function fitColumns(
  columns: readonly ColumnLayout[],
  chosen: readonly string[] | undefined,
  listWidth: number,
  fixedWidth = 0,
): ReadonlyMap<string, number> {
  const width = listWidth - fixedWidth;
  const candidates = chooseColumns(columns, chosen);
  const fitting = new Set<string>();
  let used = 0;
  const [first, ...others] = candidates;
  const byRank = others.toSorted(
    (one, other) =>
      Number(other.isHiddenByDefault ?? false) - Number(one.isHiddenByDefault ?? false) ||
      one.rank - other.rank,
  );
  for (const { id, minWidth } of first ? [first, ...byRank] : []) {
    if (fitting.size > 0 && !isCards(listWidth) && used + minWidth > width) break;
    fitting.add(id);
    used += minWidth;
  }
  const shown = candidates.filter(({ id }) => fitting.has(id));
  const shares = shown.reduce((sum, { grow = 1 }) => sum + grow, 0);
  const remaining = Math.max(0, width - used);
  return new Map(
    shown.map(({ id, minWidth, grow = 1 }) => [
      id,
      minWidth + (shares > 0 ? (remaining * grow) / shares : 0),
    ]),
  );
}

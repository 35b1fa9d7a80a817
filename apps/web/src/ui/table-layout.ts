/** How much room a column needs. */
export interface ColumnLayout {
  readonly id: string;
  /** In pixels; at least 60, so that no text is cut to less. */
  readonly minWidth: number;
  /** The share of the width that is left over; 1 by default, 0 to stay at the minimum. */
  readonly grow?: number;
  /** Where there is little room, columns with a greater number are left out first. The first column is always shown. */
  readonly rank: number;
  /** Whether the column is left out until somebody chooses it. */
  readonly isHiddenByDefault?: boolean;
}

/** Cards replace rows below this width of the list, in pixels. */
const minTableWidth = 560;

export function isCards(width: number): boolean {
  return width < minTableWidth;
}

/** The columns that somebody has chosen, or those that are shown by default. */
export function choose<Column extends ColumnLayout>(
  columns: readonly Column[],
  chosen: readonly string[] | undefined,
): readonly Column[] {
  return columns.filter(
    ({ id, isHiddenByDefault = false }, place) =>
      place === 0 || (chosen ? chosen.includes(id) : !isHiddenByDefault),
  );
}

/**
 * The chosen columns that fit into a width, with the width of each in pixels. In cards, all of them fit.
 * @param width what all columns together may take, in pixels.
 */
export function fitColumns(
  columns: readonly ColumnLayout[],
  chosen: readonly string[] | undefined,
  width: number,
): ReadonlyMap<string, number> {
  const wanted = choose(columns, chosen);
  const fitting = new Set<string>();
  let used = 0;
  for (const { id, minWidth } of wanted.toSorted((one, other) => one.rank - other.rank)) {
    if (fitting.size > 0 && !isCards(width) && used + minWidth > width) break;
    fitting.add(id);
    used += minWidth;
  }
  const shown = wanted.filter(({ id }) => fitting.has(id));
  const shares = shown.reduce((sum, { grow = 1 }) => sum + grow, 0);
  const left = Math.max(0, width - used);
  return new Map(
    shown.map(({ id, minWidth, grow = 1 }) => [id, minWidth + (shares > 0 ? (left * grow) / shares : 0)]),
  );
}

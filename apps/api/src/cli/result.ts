/** One line of a record, or one column of a table. */
export interface Column<Item> {
  readonly label: string;
  readonly text: (item: Item) => string;
  /** Whether tables omit this column, so that only single results show it. */
  readonly isDetail?: boolean;
}

/** The columns of a table, with those of variable width last. */
export type View<Item> = readonly Column<Item>[];

/** A single result: an object for JSON, and labeled lines for people. */
export interface ItemResult {
  readonly kind: "item";
  readonly json: object;
  readonly lines: readonly (readonly [label: string, text: string])[];
}

/** A list of any length, which is printed while it is read. */
export interface ListResult {
  readonly kind: "list";
  readonly headers: readonly string[];
  readonly rows: AsyncIterable<{ readonly json: object; readonly cells: readonly string[] }>;
  /** The text in place of an empty table. */
  readonly emptyText: string;
  /** Whether the rows contain secrets that can't be shown again. */
  readonly hasSecrets: boolean;
}

/** A text of any length in a format of its own, which `--json` doesn't change. It is printed while it is read. */
export interface TextResult {
  readonly kind: "text";
  readonly chunks: AsyncIterable<string>;
}

export type Result = ItemResult | ListResult | TextResult;

/** A result that is printed with a view. */
export function itemOf<Item extends object>(item: Item, view: View<Item>): ItemResult {
  return { kind: "item", json: item, lines: view.map(({ label, text }) => [label, text(item)]) };
}

/** A list of items, converted by `present`, that is printed as a table. */
export function listOf<Item, Presented extends object>(
  items: AsyncIterable<Item> | Iterable<Item>,
  shape: {
    readonly present: (item: Item) => Presented;
    readonly view: View<Presented>;
    readonly emptyText: string;
    readonly hasSecrets?: boolean;
  },
): ListResult {
  const { present, view, emptyText, hasSecrets = false } = shape;
  const columns = view.filter(({ isDetail }) => !isDetail);
  async function* toRows() {
    for await (const item of items) {
      const json = present(item);
      yield { json, cells: columns.map(({ text }) => text(json)) };
    }
  }
  const headers = columns.map(({ label }) => label);
  return { kind: "list", headers, rows: toRows(), emptyText, hasSecrets };
}

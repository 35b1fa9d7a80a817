/** One key of a file, as it is written there, or what is wrong with its line. */
export interface KeyFileRow {
  /** The line on which the row starts; the first line is 1. */
  readonly line: number;
  /** The fields of the row, which are not checked yet; a text if the row can't be read at all. */
  readonly content: Readonly<Record<string, unknown>> | { readonly problem: string };
}

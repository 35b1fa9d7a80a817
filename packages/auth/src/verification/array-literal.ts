/**
 * An array literal for Postgres. The driver would escape each element, which takes longer. None of these needs escaping: IDs,
 * numbers, booleans and null.
 */
export function toArray(elements: readonly (string | number | boolean | null)[]): string {
  return `{${elements.map((element) => element ?? "null").join()}}`;
}

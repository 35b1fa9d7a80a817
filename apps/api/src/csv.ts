/**
 * A character that begins a formula in a spreadsheet, or that spreadsheets skip before one. Some treat full-width characters like
 * their ASCII equivalents.
 */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;
/** Text without anything that a program could take for a separator, such as a semicolon. All other text is quoted. */
const plainText = /^[\w.:-]*$/;

/**
 * Formats a row of a CSV file, with its line break. A cell that a spreadsheet would take for a formula gets an
 * apostrophe in front: spreadsheets then show it as text.
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function toCsvRow(cells: readonly (string | null)[]): string {
  return `${cells.map(toCell).join(",")}\r\n`;
}

function toCell(value: string | null): string {
  if (value === null) return "";
  const text = formulaStart.test(value) ? `'${value}` : value;
  return plainText.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

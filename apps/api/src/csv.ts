/**
 * The start of a formula in a spreadsheet, or a character that spreadsheets skip before one. Some treat full-width characters like
 * their ASCII equivalents.
 */
const formulaStart = /^(?: *[=+\-@＝＋－＠]|[\t\r\n])/;
/**
 * A separator inside a cell, before the start of a formula. A program that doesn't separate cells by commas takes the quotation
 * marks of all cells but the first of a row for text, so that the separator begins a cell or a row, which can be quoted itself.
 */
const innerSeparator = /[;|\t\r\n](?=[ "]*[=+\-@＝＋－＠])/g;
/** Text without anything that a program could take for a separator, such as a semicolon. All other text is quoted. */
const plainText = /^[\w.:-]*$/;

/**
 * Formats a row of a CSV file, with its line break. Text that a spreadsheet would take for a formula gets an apostrophe in front,
 * so that spreadsheets show it as text, also where the spreadsheet separates cells by semicolons, tabs or vertical bars. JSON with
 * these apostrophes is still valid, because line breaks in JSON strings are escaped.
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function toCsvRow(cells: readonly (string | null)[]): string {
  return `${cells.map(toCell).join(",")}\r\n`;
}

function toCell(value: string | null): string {
  if (value === null) return "";
  const separated = value.replace(innerSeparator, "$&'");
  const text = formulaStart.test(value) ? `'${separated}` : separated;
  return plainText.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

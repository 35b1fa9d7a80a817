/** Some whole rows of a file. */
export interface Block {
  readonly text: string;
  /** The line on which the text starts. */
  readonly firstLine: number;
}

/** How much text is collected before it is passed on, in UTF-16 code units. */
const blockLength = 65_536;
/** The longest row, in UTF-16 code units. A longer one is passed on in pieces, which the parser rejects. */
const maxRowLength = 1_048_576;

/**
 * Splits the text of a file into blocks of whole rows, so that a file of any size is read with little memory.
 * @param options.hasQuotedBreaks whether line breaks between quotation marks belong to a row. A quotation mark in a quoted text
 *   is doubled, so a row ends at a line break after an even number of them.
 */
export async function* splitIntoBlocks(
  chunks: AsyncIterable<string>,
  { hasQuotedBreaks }: { readonly hasQuotedBreaks: boolean },
): AsyncGenerator<Block> {
  let text = "";
  let firstLine = 1;
  for await (const chunk of chunks) {
    text += chunk;
    if (text.length < blockLength) continue;
    const rowEnd = findLastRowEnd(text, hasQuotedBreaks);
    if (rowEnd === 0 && text.length <= maxRowLength) continue;
    const end = rowEnd || text.length;
    const block = text.slice(0, end);
    yield { text: block, firstLine };
    firstLine += countBreaks(block);
    text = text.slice(end);
  }
  if (text !== "") yield { text, firstLine };
}

/** The position after the last line break that ends a row; 0 if there is none. */
function findLastRowEnd(text: string, hasQuotedBreaks: boolean): number {
  if (!hasQuotedBreaks) return text.lastIndexOf("\n") + 1;
  let end = 0;
  let isQuoted = false;
  for (const { 0: mark, index } of text.matchAll(/["\n]/g)) {
    if (mark === '"') isQuoted = !isQuoted;
    else if (!isQuoted) end = index + 1;
  }
  return end;
}

function countBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

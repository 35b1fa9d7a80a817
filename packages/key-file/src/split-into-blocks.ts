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
  /** The position after the last line break in the text that ends a row; 0 if there is none. */
  let rowEnd = 0;
  /** Whether the text ends between quotation marks. */
  let isQuoted = false;
  for await (const chunk of chunks) {
    // Only the new chunk is scanned, so that a long row in small chunks takes linear time.
    const scanned: ScannedChunk = hasQuotedBreaks
      ? findQuotedRowEnd(chunk, isQuoted)
      : { rowEnd: chunk.lastIndexOf("\n") + 1, isQuoted: false };
    if (scanned.rowEnd > 0) rowEnd = text.length + scanned.rowEnd;
    isQuoted = scanned.isQuoted;
    text += chunk;
    if (text.length < blockLength) continue;
    if (rowEnd === 0 && text.length <= maxRowLength) continue;
    // What follows the first piece of a row that is too long is read as a new row.
    if (rowEnd === 0) isQuoted = false;
    const end = rowEnd || text.length;
    const block = text.slice(0, end);
    yield { text: block, firstLine };
    firstLine += countBreaks(block);
    text = text.slice(end);
    rowEnd = 0;
  }
  if (text !== "") yield { text, firstLine };
}

interface ScannedChunk {
  readonly rowEnd: number;
  readonly isQuoted: boolean;
}

/**
 * Finds the position after the last line break of a chunk that ends a row; 0 if there is none.
 * @param isQuoted whether the chunk begins between quotation marks; the result says whether it ends there.
 */
function findQuotedRowEnd(chunk: string, isQuoted: boolean): ScannedChunk {
  const found = { rowEnd: 0, isQuoted };
  for (const { 0: mark, index } of chunk.matchAll(/["\n]/g)) {
    if (mark === '"') found.isQuoted = !found.isQuoted;
    else if (!found.isQuoted) found.rowEnd = index + 1;
  }
  return found;
}

/** The number of line feeds in a text. */
export function countBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

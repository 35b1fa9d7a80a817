import { createHash } from "node:crypto";
import {
  type BackupHeader,
  damagedFileError,
  endOfRows,
  parseHeader,
  parseTrailer,
} from "./backup-format.ts";

/** Longer than any line of a backup; bounds the memory for a file that isn't one. In bytes. */
const maxLineBytes = 2 ** 26;

/** The contents of a backup. */
export interface BackupContents {
  readonly header: BackupHeader;
  readonly rowCount: number;
}

/** Receives the rows of a table, in chunks that end with a row. @returns how many rows arrived. */
export type RowSink = (
  table: BackupHeader["tables"][number],
  rows: AsyncGenerator<Buffer>,
) => Promise<number>;

/**
 * Reads a whole backup and checks it to the end.
 * @param chunks the backup, uncompressed.
 * @param sink what to do with the rows; by default they are only counted.
 * @throws {BackupError} `damaged-file`, `newer-version`, or what the sink throws.
 */
export async function readBackup(
  chunks: AsyncIterable<Buffer>,
  sink: RowSink = count,
): Promise<BackupContents> {
  const reader = new BackupReader(chunks);
  try {
    const header = parseHeader(await reader.readLine());
    const rows: Record<string, number> = {};
    for (const table of header.tables) {
      rows[table.name] = await sink(table, reader.readRows());
      await reader.skipRows();
    }
    const sha256 = reader.digest();
    const trailer = parseTrailer(await reader.readLine());
    if (trailer.sha256 !== sha256) throw damagedFileError("its checksum is wrong");
    for (const [name, number] of Object.entries(rows)) {
      if (trailer.rows[name] !== number)
        throw damagedFileError(`the table "${name}" has ${number} rows instead of ${trailer.rows[name]}`);
    }
    await reader.expectEnd();
    return { header, rowCount: Object.values(rows).reduce((sum, number) => sum + number, 0) };
  } finally {
    await reader.close();
  }
}

async function count(_table: BackupHeader["tables"][number], rows: AsyncGenerator<Buffer>): Promise<number> {
  let number = 0;
  for await (const chunk of rows)
    for (let at = chunk.indexOf("\n"); at !== -1; at = chunk.indexOf("\n", at + 1)) number += 1;
  return number;
}

/** Splits a stream at line breaks. Memory is bounded by the longest line and one chunk. */
class BackupReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #hash = createHash("sha256");
  /** Data that was read and not consumed. Starts at the beginning of a line. */
  #buffer: Buffer = Buffer.alloc(0);
  #isAfterRows = false;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async readLine(): Promise<string> {
    let end = this.#buffer.indexOf("\n");
    while (end === -1) {
      await this.#readMore();
      end = this.#buffer.indexOf("\n");
    }
    return this.#consume(end + 1).toString("utf8");
  }

  /** The rows up to the line that ends a table. */
  async *readRows(): AsyncGenerator<Buffer> {
    this.#isAfterRows = false;
    while (true) {
      if (this.#buffer.subarray(0, endOfRows.length).equals(endOfRows)) break;
      const end = this.#buffer.indexOf(`\n${endOfRows}`);
      const lines = end === -1 ? this.#buffer.lastIndexOf("\n") : end;
      if (lines === -1) await this.#readMore();
      else yield this.#consume(lines + 1);
    }
    this.#consume(endOfRows.length);
    this.#isAfterRows = true;
  }

  /** Skips to the end of the table, if the reader of the rows stopped before it. */
  async skipRows(): Promise<void> {
    if (!this.#isAfterRows) for await (const _rows of this.readRows());
  }

  /** SHA-256 of what has been consumed, in hexadecimal. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }

  async expectEnd(): Promise<void> {
    const { done } = await this.#next();
    if (this.#buffer.length > 0 || !done) throw damagedFileError("it has data after its last line");
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  #consume(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    this.#hash.update(taken);
    return taken;
  }

  /** Reads until another line ends. Joins the chunks once, so that a long line takes linear time. */
  async #readMore(): Promise<void> {
    const parts = [this.#buffer];
    let bytes = this.#buffer.length;
    while (bytes <= maxLineBytes) {
      const { done, value } = await this.#next();
      if (done) throw damagedFileError("it ends too early");
      parts.push(value);
      bytes += value.length;
      if (!value.includes("\n")) continue;
      this.#buffer = Buffer.concat(parts);
      return;
    }
    throw damagedFileError("it has a line that is too long");
  }

  async #next(): Promise<IteratorResult<Buffer>> {
    try {
      return await this.#chunks.next();
    } catch (error) {
      // The code of zlib's error for a file that it can't decompress.
      if (error instanceof Error && "code" in error && String(error.code).startsWith("Z_"))
        throw damagedFileError(error.message, error);
      throw error;
    }
  }
}

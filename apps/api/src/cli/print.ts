import { pipeline } from "node:stream/promises";

type Facts = Readonly<Record<string, unknown>>;

/** A list of any length. */
export interface Listing {
  /** What it is called in JSON. */
  readonly name: string;
  readonly items: AsyncIterable<Facts>;
}

/** What a command answers. */
export type Result = Facts | Listing;

/**
 * Prints a result: as one line of JSON, or in lines to read. A list is printed while it is read, one item at a time:
 * where reading fails midway its beginning has been printed. Who stops reading it early, as `head` does, ends it.
 */
export async function print(result: Result, isJson: boolean): Promise<void> {
  if (!isListing(result)) {
    process.stdout.write(`${isJson ? JSON.stringify(result) : toLines(result)}\n`);
    return;
  }
  let refusal: unknown;
  process.stdout.once("error", (error) => {
    refusal = error;
  });
  try {
    await pipeline(isJson ? listJson(result) : listLines(result), process.stdout, { end: false });
  } catch (error) {
    // A connection to the database may break with the same code.
    if (error !== refusal || !isBrokenPipe(error)) throw error;
  }
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

function isListing(result: Result): result is Listing {
  const { items } = result;
  return typeof items === "object" && items !== null && Symbol.asyncIterator in items;
}

async function* listJson({ name, items }: Listing): AsyncGenerator<string> {
  const opening = `{${JSON.stringify(name)}:[`;
  let before = opening;
  // The opening goes with the first item, so that a list that cannot be read at all prints nothing.
  for await (const item of items) {
    yield before + JSON.stringify(item);
    before = ",";
  }
  yield `${before === opening ? opening : ""}]}\n`;
}

/** An item a line. */
async function* listLines({ name, items }: Listing): AsyncGenerator<string> {
  let isEmpty = true;
  for await (const item of items) {
    yield `${toLines(item, "  ")}\n`;
    isEmpty = false;
  }
  if (isEmpty) yield `${toLines({ [name]: [] })}\n`;
}

function toLines(facts: Facts, separator = "\n"): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name}: ${[value].flat().join(", ") || "nothing"}`)
    .join(separator);
}

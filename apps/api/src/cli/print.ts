import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "@latchkey/errors";
import { alignLines, alignRows } from "./alignment.ts";
import type { ItemResult, ListResult, Result } from "./result.ts";

/**
 * Writes a result to `stdout`: JSON on one line, aligned text, or a text in its own format. A list is printed while it is
 * read: if reading fails midway, its beginning has been printed. A reader that stops early, as `head` does, ends a list or a text.
 * @throws {AppError} BAD_REQUEST if the reader of any other result, or of a list with secrets, has exited.
 */
export async function print(result: Result, isJson: boolean, stdout: Writable): Promise<void> {
  let failure: unknown;
  const onError = (error: unknown): void => {
    failure = error;
  };
  stdout.once("error", onError);
  try {
    await pipeline(Readable.from(write(result, isJson)), stdout, { end: false });
  } catch (error) {
    // A broken connection to the database can have the same code.
    if (error !== failure || !isBrokenPipe(error)) throw error;
    if (!canEndEarly(result)) throw outputLost();
  } finally {
    stdout.off("error", onError);
  }
}

/** Whether the reader may stop before the end. Otherwise, a script could lose a secret and continue as if it had printed it. */
function canEndEarly(result: Result): boolean {
  return result.kind === "text" || (result.kind === "list" && !result.hasSecrets);
}

/** Has no cause, because a broken connection to the database can have the code of a broken pipe. */
function outputLost(): AppError {
  const message =
    "The command succeeded, but its output was lost, because the program that reads it has exited. If the output has a secret, create a new one.";
  return new AppError("BAD_REQUEST", { message });
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

function write(result: Result, isJson: boolean): AsyncIterable<string> | Iterable<string> {
  if (result.kind === "text") return result.chunks;
  if (result.kind === "item") return [isJson ? `${JSON.stringify(result.json)}\n` : writeItem(result)];
  return isJson ? writeJsonList(result) : alignRows(result);
}

function writeItem({ lines }: ItemResult): string {
  return alignLines(lines);
}

async function* writeJsonList({ rows }: ListResult): AsyncGenerator<string> {
  const opening = '{"data":[';
  let before = opening;
  // The opening is printed with the first item, so that nothing is printed if the list can't be read.
  for await (const { json } of rows) {
    yield before + JSON.stringify(json);
    before = ",";
  }
  yield `${before === opening ? opening : ""}]}\n`;
}

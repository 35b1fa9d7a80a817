import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

/** Reads a secret from a stream to its end, without the line break that `echo` or an editor leaves there. */
export async function readSecret(stream: Readable): Promise<string> {
  return (await text(stream)).replace(/\r?\n$/, "");
}

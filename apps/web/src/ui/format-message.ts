import type { Message } from "@latchkey/errors/message";
import { formatCount } from "./count.ts";
import { describeExactly } from "./elapsed.ts";

/** The text of a message of the server, with counts and times in the reader's locale and time zone. */
export function formatMessage(message: Message): string {
  return message
    .map((piece) => {
      if (typeof piece === "string") return piece;
      return "count" in piece ? formatCount(piece.count) : describeExactly(new Date(piece.time));
    })
    .join("");
}

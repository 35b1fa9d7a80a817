/**
 * A message whose counts and times the web app formats in the reader's locale and time zone. Emails and the open API use
 * {@link writeMessage}.
 */
export type Message = readonly MessagePiece[];

/** Text, a count, or a time in ISO 8601. */
export type MessagePiece = string | { readonly count: number } | { readonly time: string };

const countFormat = new Intl.NumberFormat("en-US");
const timeFormat = new Intl.DateTimeFormat("en-US", {
  dateStyle: "long",
  timeStyle: "short",
  timeZone: "UTC",
});

/** The text of a message in American English, with times in UTC. */
export function writeMessage(message: Message): string {
  return message.map(writePiece).join("");
}

function writePiece(piece: MessagePiece): string {
  if (typeof piece === "string") return piece;
  if ("count" in piece) return countFormat.format(piece.count);
  return `${timeFormat.format(new Date(piece.time))} UTC`;
}

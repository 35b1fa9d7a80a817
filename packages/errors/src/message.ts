/**
 * A message whose counts and times the web app formats in the reader's locale and time zone. Emails and the open API use
 * {@link writeMessage}.
 */
export type Message = readonly MessagePart[];

/** Text, a count, or a time in ISO 8601. */
export type MessagePart = string | { readonly count: number } | { readonly time: string };

const countFormat = new Intl.NumberFormat("en-US");
const timeFormat = new Intl.DateTimeFormat("en-US", {
  dateStyle: "long",
  timeStyle: "short",
  timeZone: "UTC",
});

/** The text of a message in American English, with times in UTC. */
export function writeMessage(message: Message): string {
  return message.map(writePart).join("");
}

function writePart(part: MessagePart): string {
  if (typeof part === "string") return part;
  if ("count" in part) return countFormat.format(part.count);
  return `${timeFormat.format(new Date(part.time))} UTC`;
}

import { type Logger, pino } from "pino";
import type { Env } from "./env.ts";
import type { LogDestination } from "./log-destination.ts";

/** Fields of Postgres's errors that quote rows and queries, in which digests and email addresses can be. */
const quotingFields = ["detail", "where", "internalQuery"] as const;

/** An error as pino logs it, without what Postgres quotes. */
function serializeError(error: Error): object {
  const serialized: Record<string, unknown> = { ...pino.stdSerializers.err(error) };
  for (const field of quotingFields) delete serialized[field];
  return serialized;
}

const serializers = { err: serializeError };

/**
 * Creates the logger of a node, which says how many lines its destination had to drop.
 * @param level the lowest one that is written.
 */
export function createLogger(level: Env["logLevel"], destination: LogDestination): Logger {
  const log = pino({ level, serializers }, destination);
  destination.onDrop((count) =>
    log.warn({ count }, "log lines were dropped because the log could not be written fast enough"),
  );
  return log;
}

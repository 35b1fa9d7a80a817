import { type Logger, pino } from "pino";
import type { Env } from "./env.ts";
import type { LogDestination } from "./log-destination.ts";

/** Fields of Postgres errors that quote rows and queries, which can contain digests and email addresses. */
const quotingFields = ["detail", "where", "internalQuery"] as const;

/** Serializes an error like pino, without the fields that quote. */
function serializeError(error: Error): object {
  const serialized: Record<string, unknown> = { ...pino.stdSerializers.err(error) };
  for (const field of quotingFields) delete serialized[field];
  return serialized;
}

const serializers = { err: serializeError };

/**
 * Creates the logger of a node. It also logs how many lines its destination dropped.
 * @param level the lowest level that is written.
 */
export function createLogger(level: Env["logLevel"], destination: LogDestination): Logger {
  const log = pino({ level, serializers }, destination);
  destination.onDrop((count) =>
    log.warn({ count }, "log lines were dropped because the log could not be written fast enough"),
  );
  return log;
}

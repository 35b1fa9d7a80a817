import { type Logger, pino } from "pino";
import type { Env } from "./env.ts";

export interface LoggerOptions extends Pick<Env, "logLevel" | "hasRequestLog"> {
  /** The file descriptor to write to; standard output by default. */
  readonly destination?: number;
  /** How much may wait for a slow reader, in bytes; 8 MiB by default. */
  readonly maxWaiting?: number;
}

/** How long a line may wait for more to be written with it, in milliseconds. */
const flushEveryMs = 500;
/** A write is made when this much waits, in bytes. */
const minWrite = 4_096;
const reportDropsEveryMs = 1_000;

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
 * Keeps a node running when its log can't be written, as on a full disk: lines wait until writing works again, and further
 * ones are dropped when too many wait. At the end of the process, pino would try to write them again and again without end.
 */
function surviveFullDisk(stream: ReturnType<typeof pino.destination>): void {
  let isFailing = false;
  stream.on("error", () => {
    isFailing = true;
  });
  stream.on("write", () => {
    isFailing = false;
  });
  const flushSync = stream.flushSync.bind(stream);
  stream.flushSync = () => {
    if (!isFailing) flushSync();
  };
}

/**
 * Creates the logger of a node. Each line is written immediately, unless requests are logged: there are many then, so that
 * they are written together, and a reader that is too slow loses lines instead of delaying requests. A line says how many.
 * At the end of the process, what waits is written.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { logLevel: level, hasRequestLog, destination = 1, maxWaiting = 8 * 1024 * 1024 } = options;
  if (!hasRequestLog) {
    const immediate = pino.destination({ dest: destination, sync: true, maxLength: maxWaiting });
    surviveFullDisk(immediate);
    return pino({ level, serializers }, immediate);
  }
  const stream = pino.destination({
    dest: destination,
    sync: false,
    minLength: minWrite,
    maxLength: maxWaiting,
    periodicFlush: flushEveryMs,
  });
  surviveFullDisk(stream);
  const log = pino({ level, serializers }, stream);
  let dropped = 0;
  let isReportDue = false;
  const report = (): void => {
    isReportDue = false;
    const count = dropped;
    log.warn({ count }, "log lines were dropped because their reader is too slow");
    // The report may have been dropped too, which isn't counted.
    if (dropped === count) dropped = 0;
    else dropped = count;
  };
  stream.on("drop", () => {
    dropped += 1;
    if (isReportDue) return;
    isReportDue = true;
    setTimeout(report, reportDropsEveryMs).unref();
  });
  return log;
}

import type { Writable } from "node:stream";
import type { z } from "zod";
import { type DatabaseServer, openServer } from "../database-server.ts";
import type { Env } from "../env.ts";
import { reportSlowStart } from "../postgres-event.ts";
import { toSignal, untilInterrupted } from "./interruption.ts";
import { parseInput } from "./parse-input.ts";
import { print } from "./print.ts";
import type { Result } from "./result.ts";
import type { Task } from "./task.ts";
import { loadEnvWithWarnings } from "./warnings.ts";

/** What a task on a server works on. The schema of its database may be missing or of another version. */
export interface ServerTaskContext {
  readonly server: DatabaseServer;
  readonly env: Env;
  readonly stderr: Writable;
  /** Aborts when the command is interrupted. The server is closed after the task has ended. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command that doesn't need, or must not get, an up-to-date schema: parses the command line, prepares without
 * the database, opens the server, performs the task, prints its result, and closes the server.
 */
export function defineServerTask<Schema extends z.ZodType, Prepared>(options: {
  readonly input: Schema;
  /** Checks everything that must be valid before a database is opened or created. */
  readonly prepare: (input: z.output<Schema>, signal: AbortSignal) => Promise<Prepared>;
  /** Whether the command may create the embedded Postgres. */
  readonly canCreate: boolean;
  readonly perform: (context: ServerTaskContext, prepared: Prepared) => Promise<Result>;
}): Task {
  const { input: schema, prepare, canCreate, perform } = options;
  return async (line, io) => {
    const { stdout, stderr } = io;
    const input = parseInput(schema, line);
    const env = await loadEnvWithWarnings(io);
    await untilInterrupted(async (interrupted) => {
      const signal = toSignal(interrupted);
      const work = async (): Promise<void> => {
        const prepared = await prepare(input, signal);
        signal.throwIfAborted();
        const server = await openServer(env, { canCreate, onEvent: reportSlowStart(stderr), signal });
        try {
          await print(await perform({ server, env, stderr, signal }, prepared), line.isJson, stdout);
        } finally {
          await server.close();
        }
      };
      // Waits for the task, which cleans up when a signal aborts it.
      const [outcome] = await Promise.allSettled([work()]);
      signal.throwIfAborted();
      if (outcome.status === "rejected") throw outcome.reason;
    });
  };
}

import type { Writable } from "node:stream";
import { openDatabase } from "@latchkey/db/connection";
import type { Db } from "@latchkey/db/schema";
import type { z } from "zod";
import { baseUrlOf } from "../base-url.ts";
import { describeCreation } from "../database-server.ts";
import type { Quotas } from "../domain/quotas.ts";
import type { Env } from "../env.ts";
import { reportSlowStart } from "../postgres-event.ts";
import { type PreparedDatabase, prepareDatabase } from "../prepare-database.ts";
import type { CommandIo } from "./command-io.ts";
import type { CommandLine } from "./command-line.ts";
import { toSignal, untilInterrupted } from "./interruption.ts";
import { parseInput, type Secret } from "./parse-input.ts";
import { print } from "./print.ts";
import { readSecret } from "./read-secret.ts";
import type { Result } from "./result.ts";
import { loadEnvWithWarnings, writeWarnings } from "./warnings.ts";

/** The action of a command. Reads the environment only after it has validated the command line. */
export type Task = (line: CommandLine, io: CommandIo) => Promise<void>;

/** What a task works on: the database, with its schema up to date. */
export interface TaskContext {
  readonly db: Db;
  readonly prepared: PreparedDatabase;
  /** The quotas from the command's environment. */
  readonly quotas: Quotas;
  /** The URL that people use, from the command's environment. */
  readonly baseUrl: string;
  readonly env: Env;
  /** Where a long task reports its progress. */
  readonly stderr: Writable;
}

export interface TaskOptions<Schema extends z.ZodType> {
  /** Arguments and options by name. They are parsed before the database is opened. */
  readonly input: Schema;
  /** Reads a secret from standard input into the member `name` of the input; errors name `option`. */
  readonly secret?: Omit<Secret, "value">;
  /** Checks the input further, before the database is opened. @throws {UsageError} */
  readonly validate?: (input: z.output<Schema>) => Promise<void>;
  /** Whether the command may create the database; every other command needs an existing one. */
  readonly canCreate?: boolean;
  /** Whether the command restores the policies, grants and triggers that isolate tenants. */
  readonly canRepair?: (input: z.output<Schema>) => boolean;
  /** Whether the result names the migrations that were applied. Other commands print them on standard error. */
  readonly reportsMigrations?: boolean;
  readonly perform: (context: TaskContext, input: z.output<Schema>) => Result | Promise<Result>;
}

/** Parses the command line, opens the database, performs the task, prints its result, and closes the database. */
export function defineTask<Schema extends z.ZodType>(options: TaskOptions<Schema>): Task {
  const { input: schema, secret, validate, canCreate = false, canRepair, perform } = options;
  const { reportsMigrations = false } = options;
  return async (line, io) => {
    const input = parseInput(schema, line, secret && { ...secret, value: await readSecret(io.stdin) });
    await validate?.(input);
    const env = await loadEnvWithWarnings(io);
    await untilInterrupted(async (interrupted) => {
      const prepared = await prepareDatabase(env, {
        canCreate,
        canRepair: canRepair?.(input) ?? false,
        onEvent: reportSlowStart(io.stderr),
        signal: toSignal(interrupted),
      });
      const change = describeChange(prepared, reportsMigrations);
      if (change) io.stderr.write(`${change}\n`);
      writeWarnings(io.stderr, prepared.warnings);
      const db = openDatabase(prepared.connection, {
        applicationName: "latchkey command",
        maxConnections: 1,
      });
      try {
        const { quotas } = env;
        const baseUrl = baseUrlOf(env, env.port);
        const work = async () =>
          print(
            await perform({ db, prepared, quotas, baseUrl, env, stderr: io.stderr }, input),
            line.isJson,
            io.stdout,
          );
        await Promise.race([work(), interrupted]);
      } finally {
        await db.destroy();
        await prepared.close();
      }
    });
  };
}

/** Says what the preparation has changed, unless the result of the command reports it; undefined if nothing. */
function describeChange(
  { createdIn, locationNote, applied }: PreparedDatabase,
  reportsMigrations: boolean,
): string | undefined {
  if (createdIn) return describeCreation(createdIn, { locationNote });
  return applied.length > 0 && !reportsMigrations ? `Migrated the schema: ${applied.join(", ")}.` : undefined;
}

import { setTimeout as delay } from "node:timers/promises";
import { type DatabaseConnection, openDatabase, type PoolOptions } from "./connection.ts";
import type { Db } from "./schema.ts";

export interface RoundsOptions extends Pick<PoolOptions, "role" | "applicationName"> {
  readonly connection: DatabaseConnection;
  /** Time between the starts of two rounds, in milliseconds. A round that takes longer delays the next one. */
  readonly everyMs: number;
  /** How long {@link Rounds.close} waits for the step in flight and for the connection to end, in milliseconds. */
  readonly closeWithinMs: number;
  /** One round, in small steps. Its signal is aborted when the rounds are closed; it must not throw. */
  readonly run: (db: Db, signal: AbortSignal) => Promise<void>;
}

/**
 * Runs work in rounds, on a timer and one at a time, on a database connection of its own. The connection is closed between rounds,
 * because it is idle for longer than a pool keeps it.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #db: Db;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #round: Promise<void> | undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
    const { connection, role, applicationName } = options;
    this.#db = openDatabase(connection, {
      ...(role ? { role } : {}),
      applicationName,
      maxConnections: 1,
      rejectsStandby: true,
    });
    this.#timer = setInterval(() => void this.run(), options.everyMs);
    this.#timer.unref();
  }

  /** Runs one round, or joins the one in progress; never throws. */
  run(): Promise<void> {
    this.#round ??= this.#options.run(this.#db, this.#closing.signal).finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /** Stops after the step in flight, for which it waits no longer than `closeWithinMs`. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    const ended = (this.#round ?? Promise.resolve()).then(() => this.#db.destroy());
    await Promise.race([ended, delay(this.#options.closeWithinMs, undefined, { ref: false })]);
  }
}

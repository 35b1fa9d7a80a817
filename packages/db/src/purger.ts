import { setTimeout as delay } from "node:timers/promises";
import { type DatabaseConnection, openDatabase } from "./connection.ts";
import { createPurgeRules, type PurgeRule } from "./purge.ts";
import type { PurgeRound } from "./purge-round.ts";
import type { Db } from "./schema.ts";

export interface PurgerOptions {
  readonly connection: DatabaseConnection;
  /** How many days a key is kept after its deletion; 90 by default. */
  readonly historyDays?: number;
  /** How many days the instance log is kept; 365 by default. */
  readonly instanceLogDays?: number;
  /** What to delete; everything of {@link createPurgeRules} by default. */
  readonly rules?: readonly PurgeRule[];
  /** Time between two rounds, in milliseconds; 60,000 by default. */
  readonly everyMs?: number;
  /** Called with each rule that failed, or that couldn't purge some workspaces; the next round tries again. */
  readonly onFailure?: (error: unknown, rule: string) => void;
}

/** The most rows per statement. Deleting them takes a few milliseconds, so no transaction waits long for its locks. */
const rowsPerStep = 500;
/** Steps per rule and round, unless the rule says otherwise. More than 10,000 expired rows take several rounds. */
const defaultMaxSteps = 20;
/** How long `close` waits for the step in flight and for the connection to end, in milliseconds. */
const closeWithinMs = 1_000;

/**
 * Deletes expired rows on a timer, in small steps, on its own connection, which is closed between rounds. Every node
 * runs a purger. Rules skip rows that another node has locked. A failure is reported, and the rule is tried again in
 * the next round.
 */
export class Purger {
  readonly #db: Db;
  readonly #rules: readonly PurgeRule[];
  readonly #onFailure: (error: unknown, rule: string) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  #round: Promise<void> | undefined;

  constructor({
    connection,
    historyDays = 90,
    instanceLogDays = 365,
    rules = createPurgeRules({ historyDays, instanceLogDays }),
    everyMs = 60_000,
    onFailure = () => undefined,
  }: PurgerOptions) {
    this.#db = openDatabase(connection, { applicationName: "latchkey purge", maxConnections: 1 });
    this.#rules = rules;
    this.#onFailure = onFailure;
    this.#timer = setInterval(() => void this.run(), everyMs);
    this.#timer.unref();
  }

  /** Runs one round, or joins the one in progress; never throws. */
  run(): Promise<void> {
    this.#round ??= this.#purgeAll().finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /** Stops after the step in flight. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    const ended = (this.#round ?? Promise.resolve()).then(() => this.#db.destroy());
    await Promise.race([ended, delay(closeWithinMs, undefined, { ref: false })]);
  }

  async #purgeAll(): Promise<void> {
    for (const rule of this.#rules) {
      try {
        await this.#purge(rule);
      } catch (error) {
        this.#onFailure(error, rule.name);
      }
    }
  }

  async #purge({ deleteBatch, maxSteps = defaultMaxSteps }: PurgeRule): Promise<void> {
    const { signal } = this.#closing;
    const round: PurgeRound = { signal, failures: new Map() };
    for (let step = 0; step < maxSteps && !signal.aborted; step += 1) {
      if ((await deleteBatch(this.#db, rowsPerStep, round)) < rowsPerStep) break;
    }
    const { failures } = round;
    if (failures.size > 0)
      throw new AggregateError(failures.values(), `Workspaces that couldn't be purged: ${failures.size}.`);
  }
}

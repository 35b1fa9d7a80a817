import type { DatabaseConnection } from "./connection.ts";
import { createPurgeRules, type PurgeRule } from "./purge.ts";
import type { PurgeRound } from "./purge-round.ts";
import { Rounds } from "./rounds.ts";
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
/** How long `close` waits, in milliseconds. */
const closeWithinMs = 1_000;

/**
 * Deletes expired rows on a timer, in small steps, on its own connection. Every node runs a purger. Rules skip rows that
 * another node has locked. A failure is reported, and the rule is tried again in the next round.
 */
export class Purger {
  readonly #rules: readonly PurgeRule[];
  readonly #onFailure: (error: unknown, rule: string) => void;
  readonly #rounds: Rounds;

  constructor({
    connection,
    historyDays = 90,
    instanceLogDays = 365,
    rules = createPurgeRules({ historyDays, instanceLogDays }),
    everyMs = 60_000,
    onFailure = () => undefined,
  }: PurgerOptions) {
    this.#rules = rules;
    this.#onFailure = onFailure;
    this.#rounds = new Rounds({
      connection,
      applicationName: "latchkey purge",
      everyMs,
      closeWithinMs,
      run: (db, signal) => this.#purgeAll(db, signal),
    });
  }

  /** Runs one round, or joins the one in progress; never throws. */
  run(): Promise<void> {
    return this.#rounds.run();
  }

  /** Stops after the step in flight. */
  async close(): Promise<void> {
    await this.#rounds.close();
  }

  async #purgeAll(db: Db, signal: AbortSignal): Promise<void> {
    for (const rule of this.#rules) {
      try {
        await this.#purge(rule, db, signal);
      } catch (error) {
        this.#onFailure(error, rule.name);
      }
    }
  }

  async #purge(
    { deleteBatch, maxSteps = defaultMaxSteps }: PurgeRule,
    db: Db,
    signal: AbortSignal,
  ): Promise<void> {
    const round: PurgeRound = { signal, failures: new Map() };
    for (let step = 0; step < maxSteps && !signal.aborted; step += 1) {
      if ((await deleteBatch(db, rowsPerStep, round)) < rowsPerStep) break;
    }
    const { failures } = round;
    if (failures.size > 0)
      throw new AggregateError(failures.values(), `Workspaces that couldn't be purged: ${failures.size}.`);
  }
}

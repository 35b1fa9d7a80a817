import { setTimeout as delay } from "node:timers/promises";
import type { DatabaseConnection } from "@latchkey/db/connection";
import { type PruneCursor, pruneKeyHistory } from "@latchkey/db/prune-key-history";
import { Rounds } from "@latchkey/db/rounds";
import type { Db } from "@latchkey/db/schema";

export interface HistoryPrunerOptions {
  readonly connection: DatabaseConnection;
  /** How many days history is kept, and all history of an API key after its deletion; 90 by default. */
  readonly keepDays?: number;
  /** Time between two rounds, in milliseconds; 60,000 by default. */
  readonly pruneEveryMs?: number;
  /** Called with each failure; the next round tries again. */
  readonly onFailure?: (error: unknown) => void;
}

/** The number of steps in a row that delete no hours, after which a round ends. A step visits 1,000 hours and 100 keys. */
const maxIdleSteps = 20;
/** How long `close` waits, in milliseconds. */
const closeWithinMs = 500;

/**
 * Deletes old history of keys on a timer, in small steps. It has a connection of its own, so that statistics are written while a
 * backlog is deleted. Every node runs a pruner, and they take turns (see {@link pruneKeyHistory}).
 */
export class HistoryPruner {
  readonly #keepDays: number;
  readonly #rounds: Rounds;
  /** Where pruning stopped. */
  #prunedUpTo: PruneCursor | undefined;

  constructor({
    connection,
    keepDays = 90,
    pruneEveryMs = 60_000,
    onFailure = () => undefined,
  }: HistoryPrunerOptions) {
    this.#keepDays = keepDays;
    this.#rounds = new Rounds({
      connection,
      role: "latchkey_admission",
      applicationName: "latchkey pruning",
      everyMs: pruneEveryMs,
      closeWithinMs,
      run: (db, signal) => this.#prune(db, signal).catch(onFailure),
    });
  }

  /** Runs one round, or joins the one in progress; never throws. */
  run(): Promise<void> {
    return this.#rounds.run();
  }

  /** Stops after the step in flight, for which it doesn't wait long. */
  async close(): Promise<void> {
    await this.#rounds.close();
  }

  /**
   * Continues where the last round stopped, until there are no hours to delete and all hours and keys, or those of {@link maxIdleSteps}
   * steps, have been visited: visiting a million keys in each round would keep a connection busy. A fixed number of steps could be less than what
   * the nodes write in the same time. Rests after each step for as long as it took, so that deleting a backlog leaves
   * half of the time to other statements.
   */
  async #prune(db: Db, signal: AbortSignal): Promise<void> {
    for (let idleSteps = 0; idleSteps < maxIdleSteps && !signal.aborted; ) {
      const after = this.#prunedUpTo;
      const startedAt = performance.now();
      const pruned = await pruneKeyHistory(db, { keepDays: this.#keepDays, after });
      this.#prunedUpTo = pruned.next;
      if (pruned.hours === 0 && (pruned.next === undefined || pruned.next === after)) return;
      idleSteps = pruned.hours === 0 ? idleSteps + 1 : 0;
      const restMs = performance.now() - startedAt;
      await delay(restMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

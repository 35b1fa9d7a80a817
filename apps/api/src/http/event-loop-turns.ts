import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Gives each caller a turn of the event loop of its own, in the order of their calls. Without it, work that many requests do
 * when one batch is answered would be done in one turn, and every other request would wait for all of it.
 */
export function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(() => nextTurn());
    return last;
  };
}

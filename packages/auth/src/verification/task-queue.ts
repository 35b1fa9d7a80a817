/** Runs tasks one after another, in the order of the calls. */
export class TaskQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a task when all earlier ones have ended. @returns what it returns. @throws what it throws. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

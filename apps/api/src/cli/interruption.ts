const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A signal interrupted the command. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`Interrupted by ${signal}`);
    this.signal = signal;
  }
}

/**
 * Runs `work` with a promise that rejects on the first SIGINT, SIGTERM or SIGHUP. `work` closes what it has opened, so
 * that a Postgres that the command started doesn't outlive it.
 * @throws {Interruption} whenever `work` fails after a signal, because closing a connection that is in use may make a
 * statement or a cleanup fail.
 */
export async function untilInterrupted(work: (interrupted: Promise<never>) => Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  // A signal that arrives before `work` awaits the promise must not count as an unhandled rejection.
  promise.catch(() => undefined);
  let interruption: Interruption | undefined;
  const interrupt = (signal: NodeJS.Signals): void => {
    interruption ??= new Interruption(signal);
    reject(interruption);
  };
  for (const signal of signals) process.on(signal, interrupt);
  try {
    await work(promise);
  } catch (error) {
    throw interruption ?? error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

/** An `AbortSignal` that aborts when the promise of `untilInterrupted` rejects, with the same reason. */
export function toSignal(interrupted: Promise<never>): AbortSignal {
  const stopping = new AbortController();
  interrupted.catch((reason: unknown) => stopping.abort(reason));
  return stopping.signal;
}

import pg from "pg";
import { connectUnlessReadOnly } from "./connect-unless-read-only.ts";
import type { ReconnectBackoff } from "./reconnect-backoff.ts";

export interface PoolClientOptions {
  /** Limits attempts to connect, which fail immediately while none is due; no limit by default. */
  readonly backoff?: ReconnectBackoff;
  /** Whether attempts to connect to a standby fail. */
  readonly rejectsStandby: boolean;
}

/** Creates a client class for one pool, whose connections share the backoff. */
export function createPoolClient({ backoff, rejectsStandby }: PoolClientOptions): new () => pg.ClientBase {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      // If a connection breaks, its query fails. Without this listener, the error would also end the process. The pool would add one
      // too late: Postgres can end a connection in the packet that opens it.
      this.on("error", () => undefined);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = backoff ? backoff.attempt(() => this.#open()) : this.#open();
      if (!callback) return connected;
      // Despite the declared type, the pool's callback expects no argument after a success.
      connected.then(() => (callback as (error?: Error) => void)(), callback);
      return undefined;
    }

    async #open(): Promise<pg.Client> {
      const settings = rejectsStandby ? (["in_hot_standby"] as const) : [];
      await connectUnlessReadOnly(this, settings, () => super.connect());
      return this;
    }
  };
}

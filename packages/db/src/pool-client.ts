import pg from "pg";
import { connectUnlessReadOnly } from "./connect-unless-read-only.ts";
import { isResponseTimeout } from "./database-failure.ts";
import type { ReconnectBackoff } from "./reconnect-backoff.ts";

export interface PoolClientOptions {
  /** Limits attempts to connect. */
  readonly backoff: ReconnectBackoff;
  /**
   * How long a connection waits for an attempt to be due, in milliseconds. It fails immediately by default. The pool's
   * `connectionTimeoutMillis` covers this time too, so it must be longer.
   */
  readonly waitMs?: number;
  /** How long an attempt may take, in milliseconds; the pool's `connectionTimeoutMillis` by default. */
  readonly connectTimeoutMs?: number;
  /** Whether attempts to connect to a standby fail. */
  readonly rejectsStandby: boolean;
}

/**
 * Creates a client class for one pool, whose connections share the backoff. A connection ends itself if Postgres doesn't respond
 * to one of its statements within `query_timeout`, so that the pool opens another one.
 */
export function createPoolClient({
  backoff,
  waitMs = 0,
  connectTimeoutMs,
  rejectsStandby,
}: PoolClientOptions): new () => pg.ClientBase {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig = {}) {
      super(withConnectTimeout(config, connectTimeoutMs));
      // If a connection breaks, its query fails. Without this listener, the error would also end the process. The pool would add one
      // too late: Postgres can end a connection in the packet that opens it.
      this.on("error", () => undefined);
      this.#endAfterResponseTimeout();
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = backoff.attemptWhenDue(() => this.#open(), waitMs);
      if (!callback) return connected;
      // Despite the declared type, the pool's callback expects no argument after a success.
      connected.then(() => (callback as (error?: Error) => void)(), callback);
      return undefined;
    }

    /**
     * The driver only fails the statement. The pool would use the connection again, although it may be dead, or may execute the
     * statement later: a late `begin` would keep the next statement in a transaction that nobody commits.
     */
    #endAfterResponseTimeout(): void {
      const query = this.query.bind(this) as (...parameters: unknown[]) => unknown; // One signature for pg's overloads.
      this.query = ((...parameters: unknown[]) => {
        const result = query(...parameters);
        // Added before the caller's handlers, so that the connection is marked as ending before the caller can release it.
        if (result instanceof Promise)
          result.catch((error: unknown) => isResponseTimeout(error) && void this.end());
        return result;
      }) as typeof this.query; // One signature for pg's overloads.
    }

    async #open(): Promise<pg.Client> {
      const settings = rejectsStandby ? (["in_hot_standby"] as const) : [];
      await connectUnlessReadOnly(this, settings, () => super.connect());
      return this;
    }
  };
}

function withConnectTimeout(config: pg.ClientConfig, connectTimeoutMs: number | undefined): pg.ClientConfig {
  if (connectTimeoutMs === undefined) return config;
  const { password } = config;
  // The pool makes its password non-enumerable, so that a copy lacks it.
  const copy = { ...config, connectionTimeoutMillis: connectTimeoutMs };
  return password === undefined ? copy : { ...copy, password };
}

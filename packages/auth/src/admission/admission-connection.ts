import { connectUnlessReadOnly, type ReadOnlySetting } from "@latchkey/db/connect-unless-read-only";
import { clientConfig, type DatabaseConnection, startupOptions } from "@latchkey/db/connection";
import { ReconnectBackoff } from "@latchkey/db/reconnect-backoff";
import { isReadOnlyServer } from "@latchkey/db/sqlstate";
import pg from "pg";
import { sessionSettings } from "./session-settings.ts";
import { type AdmissionTimeouts, admissionTimeouts } from "./timeouts.ts";

/** Time for the server to end the connection on close, in milliseconds. */
const closeTimeoutMs = 500;

/** If one of them is on, the server can count nothing. */
const readOnlySettings: readonly ReadOnlySetting[] = ["in_hot_standby", "default_transaction_read_only"];

/**
 * Admission's own connection to Postgres, opened on first use and again after a failure. Admission
 * pipelines statements on this one connection, each in its own transaction, so there is no pool. The verifier has one of its
 * own, on which it pipelines transactions.
 *
 * A connection to a read-only server is not kept: after a failover, it would fail every statement, although the name of the
 * server already leads to the new primary.
 */
export class AdmissionConnection {
  readonly #connection: DatabaseConnection;
  readonly #applicationName: string;
  readonly #timeouts: AdmissionTimeouts;
  readonly #onOpen: () => void;
  readonly #backoff = new ReconnectBackoff();
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  /** Statements without a result, including those that wait for the connection to open. */
  #inFlight = 0;
  /** When the first of them was sent, or data last arrived, by `performance.now()`. */
  #silentSince = 0;
  #isClosed = false;

  /**
   * @param options.applicationName shown in `pg_stat_activity`.
   * @param options.timeouts those of admission by default.
   * @param options.onOpen called each time a connection has been opened, before the first statement on it.
   */
  constructor(
    connection: DatabaseConnection,
    {
      applicationName,
      timeouts = admissionTimeouts,
      onOpen = () => undefined,
    }: {
      readonly applicationName: string;
      readonly timeouts?: AdmissionTimeouts;
      readonly onOpen?: () => void;
    },
  ) {
    this.#connection = connection;
    this.#applicationName = applicationName;
    this.#timeouts = timeouts;
    this.#onOpen = onOpen;
  }

  /** Whether a statement can be sent without waiting for a connection. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Opens a connection unless there is one. @throws what the driver throws when the database cannot be reached. */
  async connect(): Promise<void> {
    if (!this.#client) await this.#connect();
  }

  /**
   * Sends statements on the connection, behind those sent before; synchronously if the connection is open.
   * @throws what `send` throws, and what the driver throws when the database cannot be reached.
   */
  async use<Answer>(send: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
    if (this.#inFlight === 0) this.#silentSince = performance.now();
    this.#inFlight += 1;
    try {
      return await send(this.#client ?? (await this.#connect()));
    } finally {
      this.#inFlight -= 1;
    }
  }

  /**
   * Closes the connection if statements are in flight and nothing has arrived for this many milliseconds. They fail, and
   * whether they took effect is unknown.
   */
  dropIfSilentFor(milliseconds: number): void {
    if (this.#inFlight === 0 || performance.now() - this.#silentSince <= milliseconds) return;
    const client = this.#client;
    this.#client = undefined;
    // Destroys the socket, because a server that has stopped answering would never close it.
    client?.connection.stream.destroy();
  }

  /** Opens a connection that all concurrent callers share; fails immediately during the pause after a failed attempt. */
  #connect(): Promise<pg.Client> {
    this.#connecting ??= this.#backoff
      .attempt(() => this.#open())
      .finally(() => {
        this.#connecting = undefined;
      });
    return this.#connecting;
  }

  async #open(): Promise<pg.Client> {
    const { connectTimeoutMs, statementTimeoutMs, idleTransactionTimeoutMs } = this.#timeouts;
    const client = new pg.Client({
      ...clientConfig(this.#connection, this.#applicationName),
      connectionTimeoutMillis: connectTimeoutMs,
      pipeline: true,
      options: startupOptions("latchkey_admission", [
        ...sessionSettings,
        `statement_timeout=${statementTimeoutMs}`,
        `idle_in_transaction_session_timeout=${idleTransactionTimeoutMs}`,
      ]),
    });
    const forget = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", forget);
    client.on("end", forget);
    await connectUnlessReadOnly(client, readOnlySettings);
    client.connection.on("errorMessage", (error: unknown) => {
      if (this.#client !== client || !isReadOnlyServer(error)) return;
      this.#backoff.fail(error);
      forget();
      // Other statements in flight would fail too.
      client.connection.stream.destroy();
    });
    // Only received data is progress. The end of a use is not: a batch that had nothing to send ends too.
    client.connection.stream.on("data", () => {
      this.#silentSince = performance.now();
    });
    if (this.#isClosed) {
      await client.end();
      throw new Error("Admission was closed while it connected.");
    }
    this.#client = client;
    this.#onOpen();
    return client;
  }

  /**
   * Closes the connection for good; call it when no statement is in flight. A connection that is being opened is closed as
   * soon as it is open. A silent server delays it by no more than a short timeout.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client;
    this.#client = undefined;
    if (!client) return;
    const timer = setTimeout(() => client.connection.stream.destroy(), closeTimeoutMs);
    await client.end();
    clearTimeout(timer);
  }
}

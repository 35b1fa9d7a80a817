import { clientConfig, type DatabaseConnection, startupOptions } from "@latchkey/db/connection";
import { ReconnectBackoff } from "@latchkey/db/reconnect-backoff";
import pg from "pg";
import { sessionSettings } from "./statement.ts";

/** How long to wait for a connection, in milliseconds: well inside the deadline of a request. */
const connectTimeoutMs = 1_000;
/** How long the server has to end the connection when it is asked to, in milliseconds. */
const goodbyeMs = 500;

/**
 * Admission's own connection to Postgres, made when first needed and made again after it broke. Statements are sent
 * on it one behind the other, each a transaction of its own, so that there is nothing to pool.
 */
export class AdmissionLink {
  readonly #connection: DatabaseConnection;
  readonly #backoff = new ReconnectBackoff();
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  /** How many answers the database owes, or the connection made for one. */
  #owed = 0;
  /** Since when it has owed the next of them, by `performance.now()`. */
  #owedSince = 0;
  #isClosed = false;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
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
   * Sends something on the connection, behind what was sent before: at once where it is there, before anything else is
   * done. @throws what `send` throws, and what the driver throws when the database cannot be reached.
   */
  async use<Answer>(send: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
    if (this.#owed === 0) this.#owedSince = performance.now();
    this.#owed += 1;
    try {
      return await send(this.#client ?? (await this.#connect()));
    } finally {
      this.#owed -= 1;
      this.#owedSince = performance.now();
    }
  }

  /**
   * Breaks the connection off where the database has owed an answer for longer than this, in milliseconds. What was sent
   * then fails; whether it took effect is unknown.
   */
  dropIfSilentFor(milliseconds: number): void {
    if (this.#owed === 0 || performance.now() - this.#owedSince <= milliseconds) return;
    const client = this.#client;
    this.#client = undefined;
    // The socket is destroyed, not closed politely: a server that has stopped answering would never close it.
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
    const client = new pg.Client({
      ...clientConfig(this.#connection, "latchkey admission"),
      connectionTimeoutMillis: connectTimeoutMs,
      pipeline: true,
      options: startupOptions("latchkey_admission", sessionSettings),
    });
    const forget = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", forget);
    client.on("end", forget);
    await client.connect();
    if (this.#isClosed) {
      await client.end();
      throw new Error("Admission was closed while it connected.");
    }
    this.#client = client;
    return client;
  }

  /**
   * Ends the connection for good, when nothing is under way; one that is being made is ended as soon as it is there. A
   * server that says nothing any more is not waited for.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client;
    this.#client = undefined;
    if (!client) return;
    const timer = setTimeout(() => client.connection.stream.destroy(), goodbyeMs);
    await client.end();
    clearTimeout(timer);
  }
}

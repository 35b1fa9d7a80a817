import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Admission } from "@latchkey/auth/admission";
import { DatabaseClock } from "@latchkey/auth/database-clock";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import { hashPassword } from "@latchkey/auth/password";
import { createSessions } from "@latchkey/auth/sessions";
import { SignInThrottle } from "@latchkey/auth/sign-in-throttle";
import { UsageRecorder } from "@latchkey/auth/usage-recorder";
import { openDatabase } from "@latchkey/db/connection";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { createTestDatabase } from "@latchkey/db/testing/test-database";
import { pino } from "pino";
import { inject } from "vitest";
import { createAccountLog } from "../src/account-log.ts";
import { createApp } from "../src/app.ts";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createAccount } from "../src/domain/accounts.ts";
import { createKey, deleteKey } from "../src/domain/api-keys.ts";
import { describeInstance, type Instance, type PublicConfiguration } from "../src/domain/instance.ts";
import { defaultQuotas, type Quotas } from "../src/domain/quotas.ts";
import { EventLog, type EventLogOptions } from "../src/event-log/event-log.ts";
import type { Endpoint } from "../src/http/endpoint.ts";
import { reserveAddress } from "../src/http/server.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { openPools } from "../src/pools.ts";
import { createWitness } from "./openapi-witness.ts";

/** The app on a port of loopback, over a real database of its own. */
export interface TestApp {
  readonly baseUrl: string;
  /** The name of its database. */
  readonly database: string;
  readonly instance: Instance;
  /** The database past the wall. */
  readonly owner: Db;
  /** Ends all sessions of the database and allows no new ones, or allows them again. */
  readonly setDatabaseAvailable: (isAvailable: boolean) => Promise<void>;
  /** Everything logged so far. */
  readonly logged: () => string;
  readonly addUser: (email?: string) => Promise<{ userId: UserId; email: string }>;
  readonly addKey: (userId?: UserId) => Promise<{ userId: UserId; id: KeyId; secret: string }>;
  /** Deletes a key as the operator does. */
  readonly deleteKey: (key: { readonly userId: UserId; readonly id: KeyId }) => Promise<void>;
  /** How many answers of the open API were held against its document so far. */
  readonly checkedAnswers: () => number;
  /** Ends it. @throws {Error} where an answer under `/open` did not fit the OpenAPI document. */
  readonly close: () => Promise<void>;
}

export const password = "correct horse battery staple";
const passwordHash = hashPassword(password);
const secret = "a secret for tests, of 32 letters or more";

/** Starts it with the endpoints of the product, or with more. */
export async function startTestApp(
  options: {
    readonly more?: readonly Endpoint[];
    readonly registration?: PublicConfiguration["registration"];
    readonly trustedProxies?: readonly string[];
    readonly corsOrigins?: readonly string[];
    /** The address people use, where it is not the one it listens on. */
    readonly publicUrl?: string;
    readonly quotas?: Partial<Quotas>;
    readonly isDraining?: boolean;
    readonly hasRequestLog?: boolean;
    readonly eventLog?: Partial<EventLogOptions>;
    /** Very many unless told. */
    readonly maxSignUpsPerHour?: number;
  } = {},
): Promise<TestApp> {
  const database = await createTestDatabase(inject("postgres"));
  const webDirectory = await createWebDirectory();
  const server = await reserveAddress("127.0.0.1", 0);
  const baseUrl = `http://127.0.0.1:${server.address.port}`;
  const publicUrl = options.publicUrl ?? baseUrl;
  const pools = openPools(database.connection, "latchkey test", {
    changeConnections: 5,
    readConnections: 5,
  });
  const { db } = pools;
  const logged: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  });
  const log = pino(stream);
  const events = new EventLog({
    log,
    isDatabaseAvailable: () => admission.isAvailable(),
    ...options.eventLog,
  });
  const instance: Instance = {
    ...pools,
    sessions: createSessions({
      db,
      secret,
      baseUrl: publicUrl,
      maxSessionsPerUser: 50,
    }),
    signInThrottle: new SignInThrottle({
      db,
      secret,
      maxSignUpsPerHour: options.maxSignUpsPerHour ?? 10_000,
    }),
    report: createAccountLog(log, events),
    baseUrl: publicUrl,
    configuration: describeInstance({
      baseUrl: publicUrl,
      version: "0.0.0",
      registration: options.registration ?? "open",
    }),
    quotas: { ...defaultQuotas, ...options.quotas },
    isTrustedProxy: createIpMatcher(options.trustedProxies ?? []),
  };
  const admission = new Admission({
    connection: database.connection,
    onFailure: (error) => events.reportFailure("admission", error, "requests could not be admitted"),
  });
  const recorder = new UsageRecorder({
    clock: await DatabaseClock.read(db),
    connection: database.connection,
    flushEveryMs: 50,
    onFailure: (error) =>
      events.reportFailure("statistics", error, "the history of keys could not be written"),
  });
  const admissionDb = openDatabase(database.connection, {
    applicationName: "test inspection",
    role: "latchkey_admission",
    maxConnections: 1,
  });
  const app = await createApp({
    instance,
    openPools: pools,
    admission,
    admissionDb,
    recorder,
    endpoints: [...endpoints, ...(options.more ?? [])],
    log,
    events,
    hasRequestLog: options.hasRequestLog ?? false,
    corsOrigins: options.corsOrigins ?? [],
    webDirectory,
    isDraining: () => options.isDraining === true,
  });
  let document: object = {};
  const witness = createWitness(server.address.port, () => document);
  await server.serve(witness.watch(app), publicUrl);
  document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as object; // The document of this very app.

  const addUser = async (email = `${crypto.randomUUID()}@example.com`) => {
    const { userId } = await createAccount(
      db,
      { email, name: "Ada", passwordHash: await passwordHash },
      { kind: "command", address: null, requestId: null },
    );
    return { userId, email };
  };
  return {
    baseUrl,
    database: database.connection.database,
    instance,
    owner: database.owner,
    setDatabaseAvailable: database.setAvailable,
    logged: () => logged.join(""),
    addUser,
    async addKey(userId) {
      const owner = userId ?? (await addUser()).userId;
      return {
        userId: owner,
        ...(await db
          .transaction()
          .execute((trx) =>
            createKey(
              trx,
              { userId: owner, name: "key", description: "", origin: commandOrigin },
              instance.quotas,
            ),
          )),
      };
    },
    deleteKey: (key) => db.transaction().execute((trx) => deleteKey(trx, { ...key, origin: commandOrigin })),
    checkedAnswers: witness.count,
    async close() {
      await server.close({ graceMs: 1_000 });
      await admission.close();
      await recorder.close();
      events.close();
      await admissionDb.destroy();
      await pools.db.destroy();
      await pools.readDb.destroy();
      await database.drop();
      await rm(webDirectory, { recursive: true, force: true });
      witness.conclude();
    },
  };
}

async function createWebDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-web-"));
  await mkdir(join(directory, "assets"));
  await writeFile(join(directory, "index.html"), "<!doctype html><title>Latchkey</title>");
  await writeFile(
    join(directory, "page-paths.json"),
    JSON.stringify(["/", "/sign-in", "/w/$slug", "/w/$slug/members"]),
  );
  await writeFile(join(directory, "docs.html"), "<!doctype html><title>Open API</title>");
  await writeFile(
    join(directory, "docs-errors.html"),
    "<!doctype html><title>Errors</title><main><!-- error reference --></main>",
  );
  await writeFile(join(directory, "assets/app-1a2b3c.js"), "export {};");
  await writeFile(join(directory, "assets/app-1a2b3c.js.br"), brotliCompressSync("export {};"));
  await writeFile(join(directory, "assets/app-1a2b3c.js.gz"), gzipSync("export {};"));
  await writeFile(join(directory, ".hidden"), "hidden");
  return directory;
}

/** Sends bytes as they are and reads all that comes back until the server closes or `Connection: close` ends it. */
export async function sendRaw(
  baseUrl: string,
  request: string,
): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.on("error", () => undefined); // A server may reset a connection whose request it will not read.
  socket.write(request);
  const answer = await text(socket);
  const [head = "", body = ""] = answer.split("\r\n\r\n", 2);
  return { status: Number(head.split(" ")[1]), head, body };
}

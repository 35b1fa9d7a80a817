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
import { FactorSecrets } from "@latchkey/auth/factor-secrets";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import { hashPassword } from "@latchkey/auth/password";
import { relyingPartyOf } from "@latchkey/auth/relying-party";
import { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { createSessions } from "@latchkey/auth/sessions";
import { SignInThrottle } from "@latchkey/auth/sign-in-throttle";
import { UsageRecorder } from "@latchkey/auth/usage-recorder";
import { Verifier } from "@latchkey/auth/verifier";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { createTestDatabase } from "@latchkey/db/testing/test-database";
import { pino } from "pino";
import { inject } from "vitest";
import { createAccountLog } from "../src/account-log.ts";
import { createApp } from "../src/app.ts";
import { commandOrigin } from "../src/cli/command-origin.ts";
import type { Deadlines } from "../src/deadlines.ts";
import { createAccount, disableAccount } from "../src/domain/accounts.ts";
import { createKey, deleteKey } from "../src/domain/api-key-edits.ts";
import { defaultQuotas, type Quotas } from "../src/domain/quotas.ts";
import { describeInstance, type PublicConfiguration, type Services } from "../src/domain/services.ts";
import { EventLog, type EventLogOptions } from "../src/event-log/event-log.ts";
import type { Endpoint } from "../src/http/endpoint.ts";
import { reserveAddress } from "../src/http/server.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { openInspection, openPools } from "../src/pools.ts";
import { createResponseChecker } from "./openapi-response-checker.ts";
import { patientDeadlines } from "./patient-deadlines.ts";

/** The app on a loopback port, with its own Postgres database. */
export interface TestApp {
  readonly baseUrl: string;
  /** The name of the app's database. */
  readonly database: string;
  readonly services: Services;
  /** The database as its owner, who bypasses row-level security. */
  readonly owner: Db;
  /** Closes all connections to the database and prevents new ones, or allows connections again. */
  readonly setDatabaseAvailable: (isAvailable: boolean) => Promise<void>;
  /** Returns the whole log so far. */
  readonly readLog: () => string;
  readonly addUser: (email?: string) => Promise<{ userId: UserId; email: string }>;
  readonly addKey: (userId?: UserId) => Promise<{ userId: UserId; id: KeyId; secret: string }>;
  /** Disables a user as the operator does. */
  readonly disableUser: (id: UserId) => Promise<void>;
  /** Deletes a key as the operator does. */
  readonly deleteKey: (key: { readonly userId: UserId; readonly id: KeyId }) => Promise<void>;
  /** The number of responses of the open API that were checked against its document so far. */
  readonly countCheckedResponses: () => number;
  /** Stops the app. @throws {Error} if a response under `/open` did not match the OpenAPI document. */
  readonly close: () => Promise<void>;
}

export const password = "correct horse battery staple";
const passwordHash = hashPassword(password);
const secret = "a secret for tests, of 32 letters or more";

/** Starts the app. */
export async function startTestApp(
  options: {
    /** Endpoints besides those of the product. */
    readonly extraEndpoints?: readonly Endpoint[];
    readonly registration?: PublicConfiguration["registration"];
    readonly trustedProxies?: readonly string[];
    readonly corsOrigins?: readonly string[];
    /** The public base URL, if it differs from the address that the app listens on. */
    readonly publicUrl?: string;
    readonly quotas?: Partial<Quotas>;
    /** {@link patientDeadlines} by default. A test of deadlines states the product's. */
    readonly deadlines?: Partial<Deadlines>;
    /** Whether links are emailed, by jobs that the test runs. */
    readonly sendsEmail?: boolean;
    /** Whether webhooks may have URLs without TLS. */
    readonly allowsPlainWebhooks?: boolean;
    readonly isDraining?: boolean;
    readonly hasRequestLog?: boolean;
    readonly eventLog?: Partial<EventLogOptions>;
    /** 10,000 by default. */
    readonly maxSignUpsPerHour?: number;
  } = {},
): Promise<TestApp> {
  const database = await createTestDatabase(inject("postgres"));
  const webDirectory = await createWebDirectory();
  const server = await reserveAddress("127.0.0.1", 0);
  const baseUrl = `http://127.0.0.1:${server.address.port}`;
  const publicUrl = options.publicUrl ?? baseUrl;
  const deadlines = { ...patientDeadlines, ...options.deadlines };
  const pools = openPools(database.connection, "latchkey test", {
    changeConnections: 5,
    readConnections: 5,
    deadlines,
  });
  const { db } = pools;
  const logChunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      logChunks.push(String(chunk));
      done();
    },
  });
  const log = pino(stream);
  const events = new EventLog({
    log,
    isDatabaseAvailable: () => admission.isAvailable(),
    ...options.eventLog,
  });
  const services: Services = {
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
    factorSecrets: new FactorSecrets(secret),
    report: createAccountLog(log, events),
    baseUrl: publicUrl,
    relyingParty: relyingPartyOf(publicUrl),
    openid: undefined,
    configuration: describeInstance({
      baseUrl: publicUrl,
      version: "0.0.0",
      registration: options.registration ?? "open",
      hasOpenid: false,
    }),
    historyDays: 90,
    quotas: { ...defaultQuotas, ...options.quotas },
    deadlines,
    sendsEmail: options.sendsEmail ?? false,
    webhookSecrets: new SealedSecrets(secret, "webhook secrets"),
    allowsPlainWebhooks: options.allowsPlainWebhooks ?? false,
    isTrustedProxy: createIpMatcher(options.trustedProxies ?? []),
  };
  const admission = new Admission({
    connection: database.connection,
    ...deadlines.admission,
    onFailure: (error, isHealthCheck) => events.reportAdmissionFailure(error, isHealthCheck),
  });
  const verifier = new Verifier({
    connection: database.connection,
    ...deadlines.verification,
    onFailure: (error) => events.reportFailure("verification", error, "keys could not be verified"),
  });
  const recorder = new UsageRecorder({
    clock: await DatabaseClock.read(db),
    connection: database.connection,
    flushEveryMs: 50,
    onFailure: (error) =>
      events.reportFailure("statistics", error, "the history of keys could not be written"),
  });
  const admissionDb = openInspection(database.connection, "test inspection", deadlines);
  const app = await createApp({
    services,
    openPools: pools,
    admission,
    verifier,
    admissionDb,
    recorder,
    // Apps without other endpoints share the OpenAPI document of the list.
    endpoints: options.extraEndpoints ? [...endpoints, ...options.extraEndpoints] : endpoints,
    log,
    events,
    hasRequestLog: options.hasRequestLog ?? false,
    corsOrigins: options.corsOrigins ?? [],
    webDirectory,
    isDraining: () => options.isDraining === true,
  });
  let document: object = {};
  const responseChecker = createResponseChecker(server.address.port, () => document);
  await server.serve(responseChecker.wrap(app), publicUrl);
  document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as object; // The document of this app.

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
    services,
    owner: database.owner,
    setDatabaseAvailable: database.setAvailable,
    readLog: () => logChunks.join(""),
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
              services.quotas,
            ),
          )),
      };
    },
    disableUser: (id) => disableAccount((work) => db.transaction().execute(work), id, commandOrigin),
    deleteKey: (key) => db.transaction().execute((trx) => deleteKey(trx, { ...key, origin: commandOrigin })),
    countCheckedResponses: responseChecker.count,
    async close() {
      await server.close({ graceMs: 1_000 });
      await admission.close();
      await verifier.close();
      await recorder.close();
      events.close();
      await admissionDb.destroy();
      await pools.db.destroy();
      await pools.readDb.destroy();
      await database.drop();
      await rm(webDirectory, { recursive: true, force: true });
      responseChecker.finish();
    },
  };
}

async function createWebDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-web-"));
  await mkdir(join(directory, "assets"));
  await writeFile(join(directory, "index.html"), "<!doctype html><title>Latchkey</title>");
  await writeFile(
    join(directory, "page-paths.json"),
    JSON.stringify([
      ...["/", "/sign-in", "/w/$slug", "/w/$slug/members"],
      ...["", "/$externalId"].map((end) => `/w/$slug/keyspaces/$keyspaceId/consumers${end}`),
    ]),
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

/** Sends a raw request, and reads until the server closes the connection. */
export async function sendRaw(
  baseUrl: string,
  request: string,
): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  // The server may reset the connection before it has read the whole request.
  socket.on("error", () => undefined);
  socket.write(request);
  const response = await text(socket);
  const [head = "", body = ""] = response.split("\r\n\r\n", 2);
  return { status: Number(head.split(" ")[1]), head, body };
}

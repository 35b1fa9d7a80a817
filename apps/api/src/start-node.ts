import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Admission } from "@latchkey/auth/admission";
import { DatabaseClock } from "@latchkey/auth/database-clock";
import { FactorSecrets } from "@latchkey/auth/factor-secrets";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import { loadCommonPasswords } from "@latchkey/auth/password-rules";
import { relyingPartyOf } from "@latchkey/auth/relying-party";
import { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { createSessions } from "@latchkey/auth/sessions";
import { SignInThrottle } from "@latchkey/auth/sign-in-throttle";
import { UsageRecorder } from "@latchkey/auth/usage-recorder";
import { Verifier } from "@latchkey/auth/verifier";
import { recordRegistration } from "@latchkey/db/instance-events";
import { recordEmailSetting } from "@latchkey/db/instance-settings";
import { JobWorker } from "@latchkey/db/job-worker";
import { Purger } from "@latchkey/db/purger";
import type { Db } from "@latchkey/db/schema";
import { hasAnyUser } from "@latchkey/db/users";
import { createAccountLog } from "./account-log.ts";
import { createApp } from "./app.ts";
import { getAuthSecret, requireAuthSecret } from "./auth-secret.ts";
import { startBackgroundJobs } from "./background-jobs.ts";
import { baseUrlOf } from "./base-url.ts";
import { createLogger } from "./create-logger.ts";
import { type Deadlines, defaultDeadlines } from "./deadlines.ts";
import { createOpenidProvider } from "./domain/openid-provider.ts";
import { describeInstance } from "./domain/services.ts";
import { type Env, projectRoot } from "./env.ts";
import { EventLog } from "./event-log/event-log.ts";
import { reserveAddress } from "./http/server.ts";
import { LogDestination } from "./log-destination.ts";
import { createMailTasks } from "./mail/mail-tasks.ts";
import { endpoints } from "./open/endpoints.ts";
import { openInspection, openPools } from "./pools.ts";
import { describePostgresEvent } from "./postgres-event.ts";
import { prepareDatabase } from "./prepare-database.ts";
import type { ReadyFacts } from "./ready-message.ts";
import { version } from "./version.ts";
import { createMessageSender } from "./webhooks/message-sender.ts";

/**
 * How long a stopping node reports itself as not ready before it stops listening, and how long requests in flight
 * may then take, in milliseconds.
 */
const noticeMs = 250;
const drainMs = 10_000;

/** How long closing a pool's connections may take, in milliseconds. */
const poolCloseTimeoutMs = 1_000;

/** How long the start waits for a Postgres that isn't available yet, in milliseconds. */
const waitMs = 30_000;

/**
 * Starts a node. The callbacks that it defers on the stack stop it, in reverse order.
 * @param options.signal ends the wait for a database.
 */
export async function startNode(
  env: Env,
  stack: AsyncDisposableStack,
  {
    signal,
    deadlines = defaultDeadlines,
  }: { readonly signal: AbortSignal; readonly deadlines?: Deadlines | undefined },
): Promise<ReadyFacts> {
  const destination = new LogDestination({ isBatched: env.hasRequestLog });
  stack.defer(() => destination.close());
  const log = createLogger(env.logLevel, destination);
  for (const warning of env.warnings) log.warn(warning);
  const events = new EventLog({ log, isDatabaseAvailable: () => admission.isAvailable() });
  stack.defer(() => events.close());
  requireAuthSecret(env);
  const server = await reserveAddress(env.host, env.port);
  const prepared = await prepareDatabase(env, {
    canCreate: true,
    onEvent: (event) => {
      const message = describePostgresEvent(event);
      events.count({ kind: message, level: "warn", message, facts: {} });
    },
    waitMs,
    onWait: (message) => log.warn(message),
    signal,
  });
  stack.defer(prepared.close);
  for (const warning of prepared.warnings) log.warn(warning);
  if (prepared.applied.length > 0 && !prepared.createdIn)
    log.info({ migrations: prepared.applied }, "migrated the schema");
  if (prepared.createdIn) process.stderr.write(`Created a Latchkey database in ${prepared.createdIn}.\n`);
  const secret = await getAuthSecret(env);

  const baseUrl = baseUrlOf(env, server.address.port);
  const poolSettings = { ...env, deadlines };
  const webPools = openPools(prepared.connection, "latchkey", poolSettings);
  const openApiPools = openPools(prepared.connection, "latchkey open", poolSettings);
  for (const { db, readDb } of [webPools, openApiPools]) {
    stack.defer(() => closePool(db));
    stack.defer(() => closePool(readDb));
  }
  // Closed after admission and the verifier: a request whose client disconnected can still be counted while the server stops.
  const recorder = new UsageRecorder({
    clock: await DatabaseClock.read(webPools.db),
    connection: prepared.connection,
    keepDays: env.historyDays,
    onFailure: (error) =>
      events.reportFailure("statistics", error, "the history of keys could not be written"),
  });
  stack.defer(() => recorder.close());
  const admission = new Admission({
    connection: prepared.connection,
    ...deadlines.admission,
    onFailure: (error, isHealthCheck) => events.reportAdmissionFailure(error, isHealthCheck),
  });
  stack.defer(() => admission.close());
  const verifier = new Verifier({
    connection: prepared.connection,
    ...deadlines.verification,
    onFailure: (error) => events.reportFailure("verification", error, "keys could not be verified"),
  });
  stack.defer(() => verifier.close());
  const purger = new Purger({
    connection: prepared.connection,
    historyDays: env.historyDays,
    instanceLogDays: env.instanceLogDays,
    onFailure: (error, rule) => events.reportFailure("purger", error, `${rule} could not be purged`),
  });
  stack.defer(() => purger.close());
  const admissionDb = openInspection(prepared.connection, "latchkey inspection", deadlines);
  stack.defer(() => closePool(admissionDb));
  const { db } = webPools;
  const services = {
    ...webPools,
    sessions: createSessions({ db, secret, baseUrl, maxSessionsPerUser: env.maxSessionsPerUser }),
    signInThrottle: new SignInThrottle({ db, secret, maxSignUpsPerHour: env.maxSignUpsPerHour }),
    factorSecrets: new FactorSecrets(secret),
    report: createAccountLog(log, events),
    baseUrl,
    relyingParty: relyingPartyOf(baseUrl),
    openid: env.openid && createOpenidProvider(env.openid, { baseUrl, secret }),
    configuration: describeInstance({
      baseUrl,
      version,
      registration: env.registration,
      hasOpenid: env.openid !== undefined,
    }),
    historyDays: env.historyDays,
    quotas: env.quotas,
    deadlines,
    sendsEmail: env.smtpUrl !== undefined,
    webhookSecrets: new SealedSecrets(secret, "webhook secrets"),
    allowsPlainWebhooks: env.webhookNetworks.length > 0,
    isTrustedProxy: createIpMatcher(env.trustedProxies),
  };
  await recordEmailSetting(prepared.connection, services.sendsEmail);
  if (env.smtpUrl !== undefined) {
    const { createMailer } = await import("./mail/mailer.ts");
    const from = env.mailFrom ?? `Latchkey <latchkey@${new URL(baseUrl).hostname}>`;
    const mailer = createMailer({ smtpUrl: env.smtpUrl, from });
    stack.defer(() => mailer.close());
    const worker = new JobWorker({
      connection: prepared.connection,
      tasks: createMailTasks({ db, mailer, baseUrl }),
      onFailure: (error, job) => events.reportFailure("jobs", error, `${job} failed`),
    });
    stack.defer(() => worker.close());
  }
  const workers = startBackgroundJobs({
    connection: prepared.connection,
    db,
    secrets: services.webhookSecrets,
    send: createMessageSender({ isAllowedAddress: createIpMatcher(env.webhookNetworks) }),
    onFailure: (error, job) => events.reportFailure("jobs", error, `${job} failed`),
  });
  // At the same time, because each may wait for its jobs.
  stack.defer(async () => {
    await Promise.all(workers.map((worker) => worker.close()));
  });
  let isDraining = false;
  const app = await createApp({
    services,
    openPools: openApiPools,
    admission,
    verifier,
    admissionDb,
    recorder,
    endpoints,
    log,
    events,
    hasRequestLog: env.hasRequestLog,
    corsOrigins: env.corsOrigins,
    webDirectory: join(projectRoot, "apps/web/dist"),
    isDraining: () => isDraining,
  });
  await recordRegistration(db, env.registration);
  await loadCommonPasswords();
  await server.serve(app, baseUrl);
  void purger.run();
  void recorder.prune();
  stack.defer(async () => {
    isDraining = true;
    await server.close({ noticeMs, graceMs: drainMs });
  });
  return { baseUrl, locationNote: prepared.locationNote, hasUsers: await hasAnyUser(db) };
}

/** Closes the pool's connections. Doesn't wait for a database that doesn't respond, because the process ends next. */
async function closePool(db: Db): Promise<void> {
  await Promise.race([db.destroy(), delay(poolCloseTimeoutMs, undefined, { ref: false })]);
}

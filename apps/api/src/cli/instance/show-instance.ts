import { openDatabase } from "@latchkey/db/connection";
import { readInstanceState } from "@latchkey/db/instance-state";
import { z } from "zod";
import { describeInstance } from "../../domain/services.ts";
import { presentInstanceState } from "../../presenters/instance-state.ts";
import { version } from "../../version.ts";
import { formatTime } from "../format.ts";
import { itemOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";

export const showInstanceTask = defineTask({
  input: z.strictObject({}),
  perform: async ({ prepared, baseUrl, env }) => {
    const { registration, openid, smtpUrl } = env;
    const hasOpenid = openid !== undefined;
    const configuration = describeInstance({ baseUrl, version, registration, hasOpenid });
    const admissionDb = openDatabase(prepared.connection, {
      role: "latchkey_admission",
      applicationName: "latchkey command",
      maxConnections: 1,
    });
    try {
      await admissionDb.connection().execute(async () => undefined); // The response time is without the connection's setup.
      const startedAt = performance.now();
      const state = await readInstanceState(admissionDb);
      const responseMs = Math.round(performance.now() - startedAt);
      const instance = { configuration, sendsEmail: smtpUrl !== undefined, openid };
      return itemOf(presentInstanceState(instance, state, responseMs), view);
    } finally {
      await admissionDb.destroy();
    }
  },
});

type PresentedState = ReturnType<typeof presentInstanceState>;

const view: View<PresentedState> = [
  { label: "Version", text: ({ version: shown }) => shown },
  { label: "URL", text: ({ baseUrl }) => baseUrl },
  { label: "Registration", text: ({ registration }) => registration },
  {
    label: "Sign-in",
    text: ({ authProviders, openidName }) =>
      authProviders.map((name) => (name === "openid" ? (openidName ?? name) : name)).join(", "),
  },
  { label: "Email", text: ({ sendsEmail }) => (sendsEmail ? "sent" : "not configured") },
  { label: "Database", text: ({ database }) => `responds in ${database.responseMs} ms` },
  { label: "Postgres", text: ({ database }) => database.postgresVersion },
  {
    label: "Size",
    text: ({ database: { sizeBytes } }) => (sizeBytes === null ? "unknown" : `${sizeBytes} bytes`),
  },
  {
    label: "Connections",
    text: ({ database }) => `${database.connectionCount} of ${database.maxConnections}`,
  },
  {
    label: "Schema",
    text: ({ database: { newestMigration, isSchemaNewer } }) =>
      isSchemaNewer ? `${newestMigration}, which is newer than this version` : newestMigration,
  },
  { label: "Waiting jobs", text: ({ jobs }) => formatCount(jobs.waiting) },
  {
    label: "Oldest overdue job",
    text: ({ jobs }) => (jobs.oldestDueAt ? `since ${formatTime(jobs.oldestDueAt)}` : "none"),
  },
  { label: "Failed jobs", text: ({ jobs }) => formatCount(jobs.failed) },
];

function formatCount({ count, isMore }: PresentedState["jobs"]["waiting"]): string {
  return isMore ? `${count} or more` : String(count);
}

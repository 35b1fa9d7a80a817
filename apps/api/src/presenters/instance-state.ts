import { type InstanceState, maxCountedJobs } from "@latchkey/db/instance-state";
import type { OpenidProvider } from "../domain/openid-provider.ts";
import type { Services } from "../domain/services.ts";

/** What operators see of the instance: no secret, and no part of a URL that can contain one. */
export function presentInstanceState(
  {
    configuration,
    sendsEmail,
    openid,
  }: Pick<Services, "configuration" | "sendsEmail"> & {
    readonly openid: Pick<OpenidProvider, "name"> | undefined;
  },
  state: InstanceState,
  responseMs: number,
) {
  const { version, baseUrl, registration, authProviders } = configuration;
  const { waiting, failed, oldestDueAt } = state.jobs;
  return {
    version,
    baseUrl,
    registration,
    authProviders,
    openidName: openid?.name ?? null,
    sendsEmail,
    database: {
      responseMs,
      postgresVersion: state.postgresVersion,
      sizeBytes: state.sizeBytes,
      connectionCount: state.connectionCount,
      maxConnections: state.maxConnections,
      newestMigration: state.newestMigration,
      isSchemaNewer: state.isSchemaNewer,
    },
    jobs: {
      waiting: { count: waiting, isMore: waiting >= maxCountedJobs },
      failed: { count: failed, isMore: failed >= maxCountedJobs },
      oldestDueAt: oldestDueAt?.toISOString() ?? null,
    },
  };
}

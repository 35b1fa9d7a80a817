import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { refreshEvery } from "../../server/refresh-every.ts";
import { type InstanceState, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { formatCount } from "../../ui/count.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import { useNow } from "../../ui/use-now.ts";
import { formatBytes } from "./format-bytes.ts";
import classes from "./instance-page.module.css";

const refreshMilliseconds = 10_000;

/** The health of the instance, for operators. */
export function InstancePage(): ReactElement {
  const query = useQuery(trpc.operator.instance.queryOptions(undefined, refreshEvery(refreshMilliseconds)));
  const failure = useLoadingFailure(query);
  return (
    <>
      <PageHeader
        title="Instance health"
        explanation="The version and configuration of the node that served this page, and the state of the database and job queue."
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t load the health of the instance"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      ) : (
        <div className={classes.sections}>
          {query.data ? <Sections state={query.data} /> : <Placeholders />}
        </div>
      )}
    </>
  );
}

function Placeholders(): ReactElement {
  return (
    <>
      <Skeleton h={236} />
      <Skeleton h={236} />
      <Skeleton h={200} />
      <Skeleton h={200} />
    </>
  );
}

function Sections({ state }: { readonly state: InstanceState }): ReactElement {
  return (
    <>
      <DatabaseSection database={state.database} />
      <JobsSection jobs={state.jobs} />
      <AccountsSection state={state} />
      <Section title="Node">
        <dl className={sectionClasses.facts}>
          <dt>Version</dt>
          <dd>{state.version}</dd>
          <dt>URL</dt>
          <dd>{state.baseUrl}</dd>
        </dl>
      </Section>
    </>
  );
}

function DatabaseSection({ database }: { readonly database: InstanceState["database"] }): ReactElement {
  const { responseMs, postgresVersion, sizeBytes, connectionCount, maxConnections } = database;
  return (
    <Section title="Database">
      <dl className={sectionClasses.facts}>
        <dt>Status</dt>
        <dd>
          <StatusBadge tone="neutral" label="Reachable" />
          <span>in {formatCount(responseMs)} ms</span>
        </dd>
        <dt>Size</dt>
        <dd>
          {sizeBytes === null
            ? "Unknown: Latchkey’s database role doesn’t have permission to read the size"
            : formatBytes(sizeBytes)}
        </dd>
        <dt>Connections</dt>
        <dd>
          {formatCount(connectionCount)} of {formatCount(maxConnections)}
        </dd>
        <dt>Postgres</dt>
        <dd>{postgresVersion}</dd>
        <dt>Schema</dt>
        <dd>
          <code>{database.newestMigration}</code>
        </dd>
      </dl>
      <p className={sectionClasses.note}>
        {database.isSchemaNewer
          ? "A newer version has migrated the schema. Upgrade this node."
          : "The schema has every migration of this version."}
      </p>
    </Section>
  );
}

/** A job that was due for this long is delayed: each one that runs has shorter timeouts. */
const delayedAfterMs = 10 * 60_000;

function JobsSection({ jobs }: { readonly jobs: InstanceState["jobs"] }): ReactElement {
  const { waiting, failed, oldestDueAt } = jobs;
  const now = useNow();
  const isDelayed = oldestDueAt !== null && now.getTime() - new Date(oldestDueAt).getTime() > delayedAfterMs;
  return (
    <Section title="Jobs">
      <dl className={sectionClasses.facts}>
        <dt>Status</dt>
        <dd>
          <StatusBadge tone={isDelayed ? "attention" : "neutral"} label={isDelayed ? "Delayed" : "On time"} />
        </dd>
        <dt>Waiting</dt>
        <dd>{describeCount(waiting)}</dd>
        <dt>Oldest overdue job</dt>
        <dd>{oldestDueAt ? <RelativeTime at={oldestDueAt} /> : "None"}</dd>
        <dt>Failed</dt>
        <dd>{describeCount(failed)}</dd>
      </dl>
      <p className={sectionClasses.note}>
        Jobs send emails and messages to webhooks. A job that fails is retried a limited number of times.
        After its last attempt, it counts as failed for seven days.
      </p>
    </Section>
  );
}

function describeCount({ count, isMore }: InstanceState["jobs"]["waiting"]): string {
  return isMore ? `${formatCount(count)}+` : formatCount(count);
}

const registrations = {
  open: "Open: anyone can sign up",
  invite: "Invite only: people need an invitation to sign up",
  closed: "Closed: only the latchkey command can create accounts",
} as const satisfies Record<InstanceState["registration"], string>;

function AccountsSection({ state }: { readonly state: InstanceState }): ReactElement {
  const { registration, authProviders, openidName, sendsEmail } = state;
  const names = { password: "Password", passkey: "Passkey", openid: openidName ?? "OpenID" };
  return (
    <Section title="Accounts">
      <dl className={sectionClasses.facts}>
        <dt>Registration</dt>
        <dd>{registrations[registration]}</dd>
        <dt>Sign-in</dt>
        <dd>{authProviders.map((provider) => names[provider]).join(", ")}</dd>
        <dt>Email</dt>
        <dd>{sendsEmail ? "Sent through SMTP" : "Not configured: links are shown instead"}</dd>
      </dl>
      <p className={sectionClasses.note}>
        To change these, restart the nodes with another REGISTRATION, OIDC_ISSUER or SMTP_URL.
      </p>
    </Section>
  );
}

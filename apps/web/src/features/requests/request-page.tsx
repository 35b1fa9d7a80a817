import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { KeyOwnerLink } from "../../server/key-owner-link.tsx";
import { refreshEvery } from "../../server/refresh-every.ts";
import { type RequestExplanation, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import sectionClasses from "../../ui/section.module.css";
import { useNow } from "../../ui/use-now.ts";
import classes from "./request-page.module.css";

const route = getRouteApi("/app/account/requests/$requestId");
/** Rejections are stored within seconds, so a recent one can be missing at first. */
const refreshMilliseconds = 3_000;

/** Explains to a user who may see the key why a request was rejected. */
export function RequestPage(): ReactElement {
  const { requestId } = route.useParams();
  const query = useQuery({
    ...trpc.keyHistory.explainRequest.queryOptions({ requestId }),
    ...refreshEvery(refreshMilliseconds),
  });
  const failure = useLoadingFailure(query);
  const hasRateLimited = query.data?.[0]?.reason === "limited";
  return (
    <>
      <PageHeader
        title={hasRateLimited ? "Why this request was rate limited" : "Why this request was rejected"}
        // While the request loads, a non-breaking space reserves the line of the link.
        parent={
          query.isPending ? (
            <>&nbsp;</>
          ) : (
            <KeyOwnerLink apiKey={query.data?.[0]?.key ?? { serviceAccount: null }} />
          )
        }
        explanation={
          <>
            Request <code className={classes.id}>{requestId}</code>
          </>
        }
      />
      {failure ? (
        <FailurePanel
          title="Couldn’t look up the request"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      ) : !query.data ? (
        <Skeleton h={220} />
      ) : query.data.length === 0 ? (
        <NotFound />
      ) : (
        query.data.map((rejection) => <Explanation key={rejection.id} rejection={rejection} />)
      )}
    </>
  );
}

function Explanation({ rejection }: { readonly rejection: RequestExplanation }): ReactElement {
  const now = useNow();
  const { reason, explanation, key, occurredAt, address, method, path } = rejection;
  const isLimited = reason === "limited";
  const moment = new Date(occurredAt);
  return (
    <section className={sectionClasses.section} aria-label="What happened">
      <p className={classes.reason} data-limited={isLimited || undefined}>
        {explanation}
      </p>
      <dl className={sectionClasses.facts}>
        <dt>Key</dt>
        <dd>
          <KeyName apiKey={key} />
        </dd>
        <dt>Time</dt>
        <dd>
          {describeExactly(moment)} ({describeElapsed(moment, now)})
        </dd>
        <dt>IP address</dt>
        <dd>{address ? <code>{address}</code> : <EmptyCell />}</dd>
        <dt>Request</dt>
        <dd>
          <code>
            {method} {path}
          </code>
        </dd>
      </dl>
      <p className={sectionClasses.note}>
        {isLimited
          ? "The caller received 429 with Retry-After."
          : "The caller received only “Insufficient access”."}
      </p>
      <Remedy rejection={rejection} />
    </section>
  );
}

/**
 * The change of the key that would allow the request, by reason. The history doesn't contain the rule of the workspace
 * that the key violated, and some rules need an admin. The key's page says for each rule what to do.
 */
const remedies: Readonly<Record<string, string>> = {
  limited: "Change the rate limit",
  disabled: "Enable the key",
  expired: "Change the expiry",
  "rotated-out": "Rotate the key",
  address: "Change the IP ranges",
  narrowed: "Change the restrictions",
  "workspace-not-in-key": "Change the workspaces",
  policy: "See what the workspace requires",
  "permission-not-in-key": "Change the permissions",
};

/** The field of the form for restrictions that changes this, by reason. */
const fields: Readonly<Record<string, string>> = {
  limited: "quota",
  expired: "expiryDate",
  address: "ipRanges",
  "workspace-not-in-key": "workspaceIds",
  "permission-not-in-key": "permissions",
};

/**
 * Links to the change that would allow the request. Renders nothing if there is none, or if the key
 * is deleted.
 */
function Remedy({
  rejection: { reason, key },
}: {
  readonly rejection: RequestExplanation;
}): ReactElement | null {
  const label = remedies[reason];
  if (label === undefined || key.isDeleted) return null;
  const isRestriction = !["disabled", "rotated-out", "policy"].includes(reason);
  const field = fields[reason];
  return (
    <Button
      variant="default"
      mt={12}
      renderRoot={(props) => (
        <Link
          {...props}
          to="/account/api-keys/$keyId"
          params={{ keyId: key.id }}
          search={isRestriction ? { edit: "restrictions", ...(field && { field }) } : {}}
        />
      )}
    >
      {label}
    </Button>
  );
}

/** Links to the page of the key. A deleted key has no page. */
function KeyName({ apiKey }: { readonly apiKey: RequestExplanation["key"] }): ReactElement {
  const name = <bdi>{apiKey.name}</bdi>;
  if (apiKey.isDeleted) return <>{name} (deleted)</>;
  return (
    <Link to="/account/api-keys/$keyId" params={{ keyId: apiKey.id }}>
      {name}
    </Link>
  );
}

function NotFound(): ReactElement {
  return (
    <EmptyPanel
      title="No rejected request with this ID"
      action={<Link to="/account/api-keys">Go to your API keys</Link>}
    >
      No key that you can see has a rejected request with this ID. The last 100 rejected requests are kept for
      each key.
    </EmptyPanel>
  );
}

import { Skeleton } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { curlLine } from "../../ui/curl-line.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { Section } from "../../ui/section.tsx";
import { UsageChart } from "../../ui/usage-chart.tsx";
import { UsageRangePicker } from "../../ui/usage-range-picker.tsx";
import { useNow } from "../../ui/use-now.ts";
import pageClasses from "./key-page.module.css";
import { useKeyUsage } from "./use-key-page.ts";

const route = getRouteApi("/app/account/api-keys/$keyId");

/** The outcomes of a key's requests, by hour or by day. */
export function UsageSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const { range = "24h" } = route.useSearch();
  const navigate = route.useNavigate();
  const now = useNow();
  const usage = useKeyUsage(apiKey.id, range, now);
  const failure = useLoadingFailure(usage);
  return (
    <Section
      title="Usage"
      action={
        <UsageRangePicker
          range={range}
          onChoose={(chosen) =>
            void navigate({
              search: ({ range: _range, ...before }) => ({ ...before, ...chosen }),
              replace: true,
              resetScroll: false,
            })
          }
        />
      }
    >
      {failure ? (
        <FailurePanel
          title="Couldn’t load usage"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={usage.isFetching}
          onRetry={() => void usage.refetch()}
        />
      ) : (
        <div className={pageClasses.box} aria-busy={!usage.data || usage.isPlaceholderData}>
          {!usage.data || usage.isPlaceholderData ? (
            <Skeleton h={254} />
          ) : usage.data.length === 0 && apiKey.lastUsedAt === null ? (
            <NotUsedYet />
          ) : (
            <UsageChart rows={usage.data} range={range} now={now} />
          )}
        </div>
      )}
    </Section>
  );
}

function NotUsedYet(): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <>
      <p className={pageClasses.words}>
        No requests with this key yet. Run this command with the key in place of $API_KEY, and the request
        appears here within seconds:
      </p>
      <CodeLine code={curlLine(instance.baseUrl, "$API_KEY")} copyLabel="Copy command" />
    </>
  );
}

import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ChartSection } from "../../server/chart-section.tsx";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { UsageRangePicker } from "../../server/usage-range-picker.tsx";
import { useUsageRange } from "../../server/use-usage-range.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { curlLine } from "../../ui/curl-line.ts";
import { UsageChart } from "../../ui/usage-chart.tsx";
import { useNow } from "../../ui/use-now.ts";
import pageClasses from "./key-page.module.css";
import { useKeyUsage } from "./use-key-page.ts";

const route = getRouteApi("/app/account/api-keys/$keyId");

/** The outcomes of a key's requests, by hour or by day. */
export function UsageSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const range = useUsageRange(route.useSearch());
  const navigate = route.useNavigate();
  const now = useNow();
  return (
    <ChartSection
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
      query={useKeyUsage(apiKey.id, range, now)}
      failureTitle="Couldn’t load usage"
    >
      {(rows) =>
        rows.length === 0 && apiKey.lastUsedAt === null ? (
          <NotUsedYet label={range.label} />
        ) : (
          <UsageChart rows={rows} range={range} now={now} />
        )
      }
    </ChartSection>
  );
}

/** Rejected requests set no last use, so there can be some before the period. */
function NotUsedYet({ label }: { readonly label: string }): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <>
      <p className={pageClasses.words}>
        No requests with this key in the last {label}. Run this command with the key in place of $API_KEY, and
        the request appears here within seconds:
      </p>
      <CodeLine code={curlLine(instance.baseUrl, "$API_KEY")} copyLabel="Copy command" />
    </>
  );
}

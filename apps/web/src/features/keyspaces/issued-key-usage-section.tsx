import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ChartSection } from "../../server/chart-section.tsx";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import { UsageRangePicker } from "../../server/usage-range-picker.tsx";
import { useUsageRange } from "../../server/use-usage-range.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import sectionClasses from "../../ui/section.module.css";
import { UsageChart } from "../../ui/usage-chart.tsx";
import { useNow } from "../../ui/use-now.ts";
import { describeSecret } from "./keyspace-status.ts";
import { type IssuedKeyPath, useIssuedKeyUsage } from "./use-issued-key-history.ts";
import { verifyCommand } from "./verify-command.ts";

const route = getRouteApi("/app/w/$slug/keyspaces/$keyspaceId/keys/$keyId");

interface UsageSectionProps {
  readonly path: IssuedKeyPath;
  readonly issuedKey: IssuedKey;
}

/** The outcomes of a key's verifications, by hour or by day. */
export function IssuedKeyUsageSection({ path, issuedKey }: UsageSectionProps): ReactElement {
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
      query={useIssuedKeyUsage(path, range, now)}
      failureTitle="Couldn’t load usage"
    >
      {(rows) =>
        rows.length === 0 && issuedKey.lastUsedAt === null ? (
          <NoVerifications start={issuedKey.start} label={range.label} />
        ) : (
          <UsageChart rows={rows} range={range} now={now} noun="verifications" />
        )
      }
    </ChartSection>
  );
}

/** How to verify the key. Rejected verifications set no last use, so there can be some before the period. */
function NoVerifications({ start, label }: { readonly start: string; readonly label: string }): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  // In a command, a placeholder without spaces is easier to select.
  const placeholder = start === "" ? "IMPORTED_KEY" : describeSecret({ start });
  return (
    <>
      <p className={sectionClasses.empty}>
        No verifications in the last {label}. Run this command, and the verification appears here within
        seconds. Replace <code>$API_KEY</code> with an API key, and <code>{placeholder}</code> with this key:
      </p>
      <CodeLine code={verifyCommand(instance.baseUrl, placeholder)} copyLabel="Copy command" />
    </>
  );
}

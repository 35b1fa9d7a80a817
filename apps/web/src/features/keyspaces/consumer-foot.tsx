import type { ReactElement } from "react";
import type { Consumer } from "../../server/trpc.ts";
import { useUsageRange } from "../../server/use-usage-range.ts";
import type { UsageRangeSearch } from "../../ui/usage-range-search.ts";
import { ConsumerDangerSection } from "./consumer-danger-section.tsx";
import { ConsumerUsage } from "./consumer-usage.tsx";

export interface ConsumerFootProps {
  readonly workspaceId: string;
  readonly consumer: Consumer;
  readonly search: UsageRangeSearch;
  readonly canManage: boolean;
  readonly onChooseRange: (search: UsageRangeSearch) => void;
}

/** The usage of a consumer, and the actions for all of its keys. */
export function ConsumerFoot(props: ConsumerFootProps): ReactElement {
  const { workspaceId, consumer, search, canManage, onChooseRange } = props;
  const { keyspaceId, externalId, lastUsedAt } = consumer;
  const range = useUsageRange(search);
  return (
    <>
      <ConsumerUsage
        path={{ workspaceId, keyspaceId, externalId }}
        range={range}
        isUnused={lastUsedAt === null}
        onChooseRange={onChooseRange}
      />
      {canManage && <ConsumerDangerSection workspaceId={workspaceId} consumer={consumer} />}
    </>
  );
}

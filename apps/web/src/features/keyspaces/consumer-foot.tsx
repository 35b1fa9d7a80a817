import type { ReactElement } from "react";
import type { Consumer } from "../../server/trpc.ts";
import type { UsageRange, UsageRangeSearch } from "../../ui/usage-ranges.ts";
import { ConsumerDangerSection } from "./consumer-danger-section.tsx";
import { ConsumerUsage } from "./consumer-usage.tsx";

export interface ConsumerFootProps {
  readonly workspaceId: string;
  readonly consumer: Consumer;
  readonly range: UsageRange;
  readonly canManage: boolean;
  readonly onChooseRange: (search: UsageRangeSearch) => void;
}

/** The usage of a consumer, and the actions for all of its keys. */
export function ConsumerFoot(props: ConsumerFootProps): ReactElement {
  const { workspaceId, consumer, range, canManage, onChooseRange } = props;
  const { keyspaceId, externalId, lastUsedAt } = consumer;
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

import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { describeStatus } from "../../ui/key-status.ts";
import { StatusBadges } from "../../ui/status-badge.tsx";
import { useNow } from "../../ui/use-now.ts";

interface KeyStatusBadgesProps {
  readonly apiKey: ApiKey;
}

/** The status of a key, and anything that needs attention. */
export function KeyStatusBadges({ apiKey }: KeyStatusBadgesProps): ReactElement {
  const isRotating = apiKey.formerSecrets.length > 0;
  return <StatusBadges statuses={describeStatus({ ...apiKey, isRotating }, useNow())} />;
}

import type { ReactElement } from "react";
import type { IssuedKey } from "../../server/trpc.ts";
import { StatusBadges } from "../../ui/status-badge.tsx";
import { useNow } from "../../ui/use-now.ts";
import { describeIssuedStatus } from "./keyspace-status.ts";

/** The status of a key, and anything that needs attention. */
export function IssuedKeyStatus({ issuedKey }: { readonly issuedKey: IssuedKey }): ReactElement {
  return <StatusBadges statuses={describeIssuedStatus(issuedKey, useNow())} />;
}

import type { ReactElement } from "react";
import type { IssuedKey } from "../../server/trpc.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { bulkKeys, issuedKeyActions } from "./issued-key-bulk-actions.ts";
import type { KeyspacePath } from "./use-keyspaces.ts";

export interface IssuedKeysBulkBarProps {
  readonly path: KeyspacePath;
  readonly items: readonly IssuedKey[];
  readonly onSelect: (items: readonly IssuedKey[]) => void;
}

/** The actions for the selected keys. */
export function IssuedKeysBulkBar({ path, ...props }: IssuedKeysBulkBarProps): ReactElement {
  return <BulkBar {...bulkKeys} {...props} actions={issuedKeyActions(path)} />;
}

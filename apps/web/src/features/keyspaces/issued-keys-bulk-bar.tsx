import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type ReactElement, useState } from "react";
import type { IssuedKey } from "../../server/trpc.ts";
import { BulkBar } from "../../ui/bulk-bar.tsx";
import { countOf } from "../../ui/count.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { bulkKeys, issuedKeyActions } from "./issued-key-bulk-actions.ts";
import { rotateKeysDialog } from "./lazy-rotate-keys-dialog.ts";
import type { KeyspacePath } from "./use-keyspaces.ts";

export interface IssuedKeysBulkBarProps {
  readonly path: KeyspacePath;
  readonly items: readonly IssuedKey[];
  readonly onSelect: (items: readonly IssuedKey[]) => void;
}

/** The actions for the selected keys. */
export function IssuedKeysBulkBar({ path, ...props }: IssuedKeysBulkBarProps): ReactElement {
  const [isRotating, dialog] = useDisclosure(false);
  // The dialog still shows the keys after the rotation, which clears the selection.
  const [rotated, setRotated] = useState<readonly IssuedKey[]>([]);
  const rotate = (
    <Button
      variant="default"
      onClick={() => {
        setRotated(props.items);
        dialog.open();
      }}
    >
      Rotate
    </Button>
  );
  return (
    <>
      <BulkBar {...bulkKeys} {...props} actions={issuedKeyActions(path)} otherActions={rotate} />
      <LazyDialog
        source={rotateKeysDialog}
        props={{
          isOpen: isRotating,
          path,
          title: `Rotate ${countOf(rotated.length, "key", "keys")}`,
          choice: { keyIds: rotated.map(({ id }) => id) },
          keyCount: rotated.length,
          onRotated: () => props.onSelect([]),
          onClose: dialog.close,
        }}
      />
    </>
  );
}

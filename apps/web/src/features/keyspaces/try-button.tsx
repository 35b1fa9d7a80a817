import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";

const tryDialog = {
  load: () => import("./try-dialog.tsx").then((module) => module.TryDialog),
  closed: { isOpen: false },
};

interface TryButtonProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
}

/** Opens the dialog that verifies a pasted key. */
export function TryButton({ workspace, keyspace }: TryButtonProps): ReactElement {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open}>
        Try a key
      </Button>
      <LazyDialog source={tryDialog} props={{ workspace, keyspace, isOpen, onClose: close }} />
    </>
  );
}

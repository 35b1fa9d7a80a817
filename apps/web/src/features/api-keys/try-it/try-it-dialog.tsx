import { Modal } from "@mantine/core";
import type { ReactElement } from "react";
import { TryIt } from "./try-it.tsx";

interface TryItDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Closing the dialog unmounts the form, which discards the pasted key. */
export function TryItDialog({ isOpen, onClose }: TryItDialogProps): ReactElement {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Try a key" size={640} closeOnClickOutside={false}>
      <TryIt />
    </Modal>
  );
}

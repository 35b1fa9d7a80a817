import type { ComponentType, ReactElement } from "react";
import type { ConfirmDialogProps } from "./confirm-modal.tsx";
import { LazyDialog } from "./lazy-dialog.tsx";

type ConfirmModalProps = ConfirmDialogProps & { readonly onClose: () => void };

const confirmModal = {
  load: async (): Promise<ComponentType<ConfirmModalProps>> =>
    (await import("./confirm-modal.tsx")).ConfirmModal,
  closed: { isOpen: false },
};

/** Asks for confirmation of an action. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactElement {
  return <LazyDialog source={confirmModal} props={{ ...props, onClose: props.onCancel }} />;
}

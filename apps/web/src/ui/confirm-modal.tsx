import { Modal } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { closeUnlessBusy } from "./close-unless-busy.ts";
import { ConfirmActions, type ConfirmActionsProps } from "./confirm-actions.tsx";
import { dialogLayers } from "./dialog-layers.ts";

export interface ConfirmDialogProps extends ConfirmActionsProps {
  readonly isOpen: boolean;
  readonly title: ReactNode;
  /** What the action does, and to what. */
  readonly children: ReactNode;
  /**
   * Called when the dialog is hidden. Reset the failure here, so that the dialog doesn't show it
   * when it opens again.
   */
  readonly onClosed?: () => void;
  /** One of `dialogLayers`; by default that of most dialogs. */
  readonly zIndex?: number;
}

/**
 * Asks for confirmation. The caller performs the action. If a dialog stays mounted for different
 * items, mount the call and a `ConfirmActions` per item instead, so that the failure of one item
 * isn't shown for another.
 */
export function ConfirmModal(props: ConfirmDialogProps): ReactElement {
  const { isOpen, title, children, onClosed, zIndex = dialogLayers.dialog, ...answer } = props;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(answer.isBusy, answer.onCancel)}
      {...(onClosed ? { onExitTransitionEnd: onClosed } : {})}
      zIndex={zIndex}
      title={title}
      size={480}
    >
      {children}
      <ConfirmActions {...answer} />
    </Modal>
  );
}

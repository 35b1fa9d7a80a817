import { Modal } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { closeUnlessBusy } from "./close-unless-busy.ts";
import { ConfirmAnswer, type ConfirmAnswerProps } from "./confirm-answer.tsx";

interface ConfirmDialogProps extends ConfirmAnswerProps {
  readonly isOpen: boolean;
  readonly title: ReactNode;
  /** What would happen, and to what. */
  readonly children: ReactNode;
  /** Called when it is out of sight: the failure of this time must not show the next time. */
  readonly onClosed?: () => void;
}

/**
 * Asks before something is done; whoever opens it makes the call. A dialog that is about one thing now and another one
 * later mounts its call and a `ConfirmAnswer` for each instead, so that no failure shows with the wrong one.
 */
export function ConfirmDialog(props: ConfirmDialogProps): ReactElement {
  const { isOpen, title, children, onClosed, ...answer } = props;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(answer.isBusy, answer.onCancel)}
      {...(onClosed ? { onExitTransitionEnd: onClosed } : {})}
      title={title}
      size={480}
    >
      {children}
      <ConfirmAnswer {...answer} />
    </Modal>
  );
}

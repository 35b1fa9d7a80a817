import { Modal } from "@mantine/core";
import { type ReactElement, type ReactNode, useContext, useState } from "react";
import { closeUnlessBusy } from "./close-unless-busy.ts";
import { CurrentCloseGuard, createCloseGuard } from "./uncopied-secrets.ts";
import {
  CurrentDiscardConfirmation,
  CurrentInputScope,
  createInputScope,
  useUnsavedInput,
} from "./unsaved-input.ts";

interface FormDialogProps {
  readonly isOpen: boolean;
  /** Whether a call is in flight, during which the dialog can't be closed. */
  readonly isBusy: boolean;
  readonly title: ReactNode;
  /** The width in pixels. */
  readonly size: number;
  /** True by default. */
  readonly closeOnClickOutside?: boolean;
  readonly onClose: () => void;
  /** Called when the dialog is hidden. */
  readonly onClosed?: () => void;
  readonly children: ReactNode;
}

/**
 * A dialog with a form. Asks before Escape, a click outside or the close button discards input or secrets that were not
 * copied.
 */
export function FormDialog(props: FormDialogProps): ReactElement {
  const { isOpen, isBusy, title, size, closeOnClickOutside = true, onClose, onClosed, children } = props;
  const [scope] = useState(createInputScope);
  const [guard] = useState(createCloseGuard);
  // Opening another page discards the input of an open dialog too.
  useUnsavedInput(() => isOpen && scope.hasInput());
  const confirmation = useContext(CurrentDiscardConfirmation);
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isBusy, () =>
        scope.hasInput() ? confirmation.ask(onClose) : guard.attempt(onClose),
      )}
      // While the user is asked whether to discard input, Escape closes only that dialog.
      closeOnEscape={!confirmation.isOpen}
      {...(onClosed && { onExitTransitionEnd: onClosed })}
      closeOnClickOutside={closeOnClickOutside}
      title={title}
      size={size}
    >
      <CurrentInputScope value={scope}>
        <CurrentCloseGuard value={guard}>{children}</CurrentCloseGuard>
      </CurrentInputScope>
    </Modal>
  );
}

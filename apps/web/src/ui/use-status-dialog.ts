import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";

interface StatusDialog {
  readonly isOpen: boolean;
  /** Whether the dialog enables something rather than disables it. It stays the same while the dialog closes after the change. */
  readonly isEnabling: boolean;
  readonly open: () => void;
  readonly close: () => void;
}

/** The state of a dialog that disables something, or enables it if it is disabled when the dialog opens. */
export function useStatusDialog(isDisabled: boolean): StatusDialog {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [isEnabling, setIsEnabling] = useState(isDisabled);
  return {
    isOpen,
    isEnabling,
    open: () => {
      setIsEnabling(isDisabled);
      open();
    },
    close,
  };
}

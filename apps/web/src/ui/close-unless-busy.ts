/**
 * Dialog props that prevent closing while a call is in flight, because closing would look like
 * canceling the call.
 */
export function closeUnlessBusy(isBusy: boolean, onClose: () => void) {
  return {
    onClose: () => {
      if (!isBusy) onClose();
    },
    closeButtonProps: { "aria-label": "Close", iconSize: 18, disabled: isBusy },
  } as const;
}

/** For a dialog whose call is under way: nothing closes it, because that would look like calling the call off. */
export function closeUnlessBusy(isBusy: boolean, onClose: () => void) {
  return {
    onClose: () => {
      if (!isBusy) onClose();
    },
    closeButtonProps: { "aria-label": "Close", iconSize: 18, disabled: isBusy },
  } as const;
}

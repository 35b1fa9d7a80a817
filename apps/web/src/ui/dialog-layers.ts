import { getDefaultZIndex } from "@mantine/core";

const base = getDefaultZIndex("modal");

/**
 * The `z-index` of dialogs that open above other dialogs. Of two dialogs with the same one, the one whose element was
 * created last is above, which is not always the one that was opened last: elements are kept when a dialog closes.
 */
export const dialogLayers = {
  dialog: base,
  /** Above the dialog whose change needs the password. */
  reauthentication: base + 1,
  /** Above the dialog whose input would be discarded. */
  discard: base + 2,
} as const;

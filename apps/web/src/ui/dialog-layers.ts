import { getDefaultZIndex } from "@mantine/core";

const base = getDefaultZIndex("modal");

/**
 * The `z-index` of dialogs that open above other dialogs. If two dialogs have the same `z-index`, the later element in
 * the DOM is on top. This is not always the dialog that was opened last, because elements are kept when a dialog
 * closes.
 */
export const dialogLayers = {
  dialog: base,
  /** Above the dialog whose change needs the password. */
  reauthentication: base + 1,
  /** Above the dialog whose input would be discarded. */
  discard: base + 2,
} as const;

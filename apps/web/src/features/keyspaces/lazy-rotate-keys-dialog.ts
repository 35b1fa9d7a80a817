/** The dialog that rotates several keys, whose code is a separate file. */
export const rotateKeysDialog = {
  load: () => import("./rotate-issued-keys-dialog.tsx").then((module) => module.RotateIssuedKeysDialog),
  closed: { isOpen: false },
};

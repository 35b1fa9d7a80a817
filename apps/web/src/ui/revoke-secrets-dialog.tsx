import { notifications } from "@mantine/notifications";
import type { ReactElement } from "react";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import type { ConfirmDialogProps } from "./confirm-modal.tsx";

interface RevokeSecretsDialogProps extends Omit<ConfirmDialogProps, "title" | "action"> {
  /** How many old secrets are revoked. */
  readonly count: number;
}

/** Asks for confirmation before all old secrets of a key are revoked. */
export function RevokeSecretsDialog({ count, ...props }: RevokeSecretsDialogProps): ReactElement {
  return (
    <ConfirmDialog
      {...props}
      title={count > 1 ? `Revoke the ${count} old secrets?` : "Revoke the old secret?"}
      action={count > 1 ? "Revoke old secrets" : "Revoke old secret"}
    />
  );
}

/** Tells the user that the secrets were revoked. @param effect what that means, for one secret and for several. */
export function reportRevocation(
  count: number,
  effect: { readonly ofOne: string; readonly ofSeveral: string },
): void {
  // The button that opened the dialog is removed with the last old secret, so the focus moves to the page.
  document.getElementById("content")?.focus();
  const message =
    count > 1
      ? `The ${count} old secrets were revoked. ${effect.ofSeveral}`
      : `The old secret was revoked. ${effect.ofOne}`;
  notifications.show({ message });
}

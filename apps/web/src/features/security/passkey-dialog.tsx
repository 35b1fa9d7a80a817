import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { loadPasskeyLibrary, usePasskey } from "../../server/passkeys.ts";
import { type Passkey, trpc } from "../../server/trpc.ts";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import type { CodesReceiver } from "./factor.tsx";
import { useFactorsChanged } from "./use-factors-changed.ts";

export type PasskeyDialogMode =
  | { readonly kind: "add" }
  | { readonly kind: "rename"; readonly passkey: Passkey };

interface PasskeyDialogProps extends CodesReceiver {
  /** The dialog is open if it is defined. */
  readonly mode: PasskeyDialogMode | undefined;
  readonly onClose: () => void;
}

/** Names a passkey, which the browser then creates; or renames one. */
export function PasskeyDialog({ mode, onRecoveryCodes, onClose }: PasskeyDialogProps): ReactElement {
  const [isBusy, setBusy] = useState(false);
  return (
    <FormDialog
      isOpen={mode !== undefined}
      isBusy={isBusy}
      title={mode?.kind === "rename" ? "Rename the passkey" : "Add a passkey"}
      size={480}
      onClose={onClose}
    >
      {mode && (
        <PasskeyForm mode={mode} onBusy={setBusy} onRecoveryCodes={onRecoveryCodes} onClose={onClose} />
      )}
    </FormDialog>
  );
}

const lostResponse =
  "The server didn’t respond. The passkey may have been added. If this page shows it and you have no recovery codes, close the dialog and create new ones.";

interface PasskeyFormProps extends CodesReceiver {
  readonly mode: PasskeyDialogMode;
  readonly onBusy: (isBusy: boolean) => void;
  readonly onClose: () => void;
}

function PasskeyForm({ mode, onBusy, onRecoveryCodes, onClose }: PasskeyFormProps): ReactElement {
  const isRename = mode.kind === "rename";
  const form = useForm({
    name: "passkey",
    mode: "uncontrolled",
    initialValues: { name: isRename ? mode.passkey.name : "" },
    validate: { name: (name) => (name.trim() ? null : "Enter a name.") },
  });
  useUnsavedInput(form.isDirty);
  const showChanged = useFactorsChanged();
  const isShown = useRef(false);
  const ceremony = useRef<{ readonly cancelCeremony: () => void }>(undefined);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
      ceremony.current?.cancelCeremony();
    };
  }, []);
  const start = useMutation(trpc.factors.startPasskey.mutationOptions());
  const add = useMutation(
    trpc.factors.addPasskey.mutationOptions({
      // If the response was lost, the page can show that the passkey was added.
      onError: (error) => {
        if (isResponseLost(error)) void showChanged();
      },
    }),
  );
  const isAdditionLost = add.error !== null && isResponseLost(add.error);
  const rename = useMutation(trpc.factors.renamePasskey.mutationOptions());
  const save = async (name: string) => {
    if (isRename) {
      await rename.mutateAsync({ id: mode.passkey.id, name });
      await showChanged();
      return onClose();
    }
    add.reset();
    const optionsJSON = await start.mutateAsync();
    const { startRegistration, WebAuthnAbortService } = await loadPasskeyLibrary();
    // The user may have opened another page, where nothing would show the recovery codes.
    if (!isShown.current) return;
    ceremony.current = WebAuthnAbortService;
    const response = await startRegistration({ optionsJSON }).finally(() => {
      ceremony.current = undefined;
    });
    // The passkey may have been created just before its ceremony was canceled.
    if (!isShown.current) return;
    const { recoveryCodes } = await add.mutateAsync({ name, response });
    onClose();
    if (recoveryCodes) onRecoveryCodes(recoveryCodes);
    await showChanged();
    notifications.show({ message: "The passkey was added. Your other sessions have ended." });
  };
  const passkey = usePasskey(() => save(collapseSpaces(form.getValues().name)));
  // The response can contain recovery codes, and the browser may already have asked for the passkey.
  usePendingSecrets(!isRename && passkey.isBusy);
  useEffect(() => onBusy(passkey.isBusy), [passkey.isBusy, onBusy]);
  // The form unmounts when the dialog closes, before the passkey's call returns.
  useEffect(() => () => onBusy(false), [onBusy]);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={form.onSubmit(() => passkey.start(), focusFirstError(form.getInputNode))}
    >
      {!isRename && (
        <p className={dialogClasses.words}>
          Your browser then asks how to save it. You can no longer sign in with only your password.
        </p>
      )}
      {passkey.failure && (
        <FormFailure {...passkey.failure} {...(isAdditionLost && { message: lostResponse })} />
      )}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        description="Helps you tell your passkeys apart, such as “Work laptop”."
        maxLength={100}
        dir="auto"
        required
        withAsterisk={false}
        data-autofocus
      />
      <FormActions action={isRename ? "Rename" : "Continue"} isBusy={passkey.isBusy} onCancel={onClose} />
    </form>
  );
}

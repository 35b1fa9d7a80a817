import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation } from "@tanstack/react-query";
import { type ReactElement, useMemo } from "react";
import { encode } from "uqr";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure, isResponseLost } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type NewTotp, trpc } from "../../server/trpc.ts";
import { CodeField } from "../../ui/code-field.tsx";
import { CodeLine } from "../../ui/code-line.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { checkCode } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import type { CodesReceiver } from "./factor.tsx";
import classes from "./totp-dialog.module.css";
import { useFactorsChanged } from "./use-factors-changed.ts";

interface TotpDialogProps extends CodesReceiver {
  /** The new secret. The dialog is open if it is defined. */
  readonly totp: NewTotp | undefined;
  readonly onClose: () => void;
}

/** Sets up an authenticator app: shows its secret, and asks for the first code. */
export function TotpDialog({ totp, onRecoveryCodes, onClose }: TotpDialogProps): ReactElement {
  const isEnabling = useIsMutating({ mutationKey: trpc.factors.enableTotp.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={totp !== undefined}
      isBusy={isEnabling}
      title="Set up an authenticator app"
      size={480}
      onClose={onClose}
    >
      {totp && <TotpForm totp={totp} onRecoveryCodes={onRecoveryCodes} onClose={onClose} />}
    </FormDialog>
  );
}

const lostResponse =
  "The server didn’t respond. The authenticator app may have been set up, so keep its entry. If this page shows that it was and you have no recovery codes, close the dialog and create new ones.";

interface TotpFormProps extends CodesReceiver {
  readonly totp: NewTotp;
  readonly onClose: () => void;
}

function TotpForm({ totp, onRecoveryCodes, onClose }: TotpFormProps): ReactElement {
  const form = useForm({
    name: "totp",
    mode: "uncontrolled",
    initialValues: { code: "" },
    validate: { code: checkCode },
  });
  useUnsavedInput(form.isDirty);
  const showChanged = useFactorsChanged();
  const enable = useMutation(
    trpc.factors.enableTotp.mutationOptions({
      onSuccess: async ({ recoveryCodes }) => {
        onClose();
        if (recoveryCodes) onRecoveryCodes(recoveryCodes);
        await showChanged();
        // The button that opened the dialog was replaced, so the focus moves to the page.
        if (!recoveryCodes) document.getElementById("content")?.focus();
        notifications.show({ message: "The authenticator app was set up. Your other sessions have ended." });
      },
      onError: (error) => {
        showIssues(form, error);
        // If the response was lost, the page can show that the app was set up.
        if (isResponseLost(error)) void showChanged();
      },
    }),
  );
  usePendingSecrets(enable.isPending);
  const failure = enable.error ? describeFailure(enable.error) : undefined;
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={form.onSubmit(({ code }) => enable.mutate({ code }), focusFirstError(form.getInputNode))}
    >
      <p className={dialogClasses.words}>
        Scan the QR code with an authenticator app, or enter the secret manually. Then enter the code that the
        app shows.
      </p>
      <Secret totp={totp} />
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure
          message={
            failure.code === "NO_ANSWER" ? lostResponse : describeRejection(failure, enable.submittedAt)
          }
          requestId={failure.requestId}
        />
      )}
      <CodeField
        {...form.getInputProps("code")}
        key={form.key("code")}
        description="Six digits from the app."
        inputMode="numeric"
        data-autofocus
      />
      <FormActions action="Set up" isBusy={enable.isPending} onCancel={onClose} />
    </form>
  );
}

function Secret({ totp: { secret, url } }: { readonly totp: NewTotp }): ReactElement {
  const { size, path } = useMemo(() => drawQrCode(url), [url]);
  const groups = secret.match(/.{1,4}/g) ?? [];
  return (
    <div className={classes.secret}>
      <svg
        className={classes.qr}
        viewBox={`0 0 ${size} ${size}`}
        role="img"
        aria-label="QR code of the secret"
      >
        <path d={path} />
      </svg>
      <div className={classes.text}>
        <p>Secret</p>
        <CodeLine code={groups.join(" ")} copyLabel="Copy secret" />
      </div>
    </div>
  );
}

/** The dark modules of a QR code as an SVG path, with the quiet zone of four modules that scanners need. */
function drawQrCode(text: string): { readonly size: number; readonly path: string } {
  const { size, data } = encode(text, { ecc: "M", border: 4 });
  const rows = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")));
  return { size, path: rows.join("") };
}

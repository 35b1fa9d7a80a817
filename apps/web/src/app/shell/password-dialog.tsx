import { Button, Group, Modal, Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, useContext, useState } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { goToProvider } from "../../server/openid.ts";
import { canUsePasskeys } from "../../server/passkey-support.ts";
import { loadPasskeyLibrary, usePasskey } from "../../server/passkeys.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { CodeField } from "../../ui/code-field.tsx";
import classes from "../../ui/dialog.module.css";
import { dialogLayers } from "../../ui/dialog-layers.ts";
import { checkCode, checkPassword } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { CurrentDiscardConfirmation } from "../../ui/unsaved-input.ts";

/** The height of the password field with its label, in pixels. */
const passwordHeight = 61;

interface PasswordDialogProps {
  readonly email: string;
  /** Called with whether the password was confirmed. The dialog is open if it is defined. */
  readonly answer: ((isConfirmed: boolean) => void) | undefined;
  readonly onClose: () => void;
}

/** Asks for the password, and for a code if the account has a second factor, before a sensitive change. */
export function PasswordDialog({ email, answer, onClose }: PasswordDialogProps): ReactElement {
  // Loaded here rather than with the page, because few calls need it.
  const { data: factors } = useQuery(
    trpc.factors.get.queryOptions(undefined, { enabled: answer !== undefined }),
  );
  const { data: methods, isPending } = useQuery(
    trpc.account.signInMethods.queryOptions(undefined, { enabled: answer !== undefined }),
  );
  const hasPassword = methods?.hasPassword ?? true;
  const hasPasskeys = factors !== undefined && factors.passkeys.length > 0;
  // Set when the API asks for a code, which happens if the factors couldn't be loaded here.
  const [isCodeNeeded, setIsCodeNeeded] = useState(false);
  const hasFactor = isCodeNeeded || hasPasskeys || (factors !== undefined && factors.totpSince !== null);
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { password: "", code: "" },
    validate: { password: checkPassword, code: (code) => (hasFactor ? checkCode(code) : null) },
  });
  const confirm = useMutation(
    trpc.account.confirmPassword.mutationOptions({
      onSuccess: () => answer?.(true),
      onError: (error) => {
        if (describeFailure(error).issues.some(({ path }) => path === "code")) setIsCodeNeeded(true);
        showIssues(form, error);
      },
    }),
  );
  const failure = confirm.error ? describeFailure(confirm.error) : undefined;
  const isAskedToDiscard = useContext(CurrentDiscardConfirmation).isOpen;
  return (
    <Modal
      opened={answer !== undefined}
      {...closeUnlessBusy(confirm.isPending, onClose)}
      // While the user is asked whether to discard input, Escape closes only that dialog.
      closeOnEscape={!isAskedToDiscard}
      zIndex={dialogLayers.reauthentication}
      onExitTransitionEnd={() => {
        form.reset();
        confirm.reset();
        setIsCodeNeeded(false);
      }}
      title={hasFactor || !hasPassword ? "Confirm that it’s you" : "Confirm your password"}
      size={480}
    >
      <form
        noValidate
        onSubmit={form.onSubmit(
          ({ password, code }) => confirm.mutate({ password, ...(code && { code }) }),
          focusFirstError(form.getInputNode),
        )}
      >
        <p className={classes.words}>
          {hasFactor || !hasPassword
            ? "This change requires you to confirm your identity again. You last did so more than 15 minutes ago."
            : "This change requires your password again. You last entered it more than 15 minutes ago."}
        </p>
        {failure && !hasIssueOf(form, failure) && (
          <div className={classes.failure}>
            <FormFailure
              message={describeRejection(failure, confirm.submittedAt)}
              requestId={failure.requestId}
            />
          </div>
        )}
        {/* Tells password managers which account the password is for. */}
        <input type="text" autoComplete="username" value={email} readOnly hidden />
        {isPending ? (
          <Skeleton h={passwordHeight} />
        ) : (
          hasPassword && (
            <>
              <SecretField
                {...form.getInputProps("password")}
                key={form.key("password")}
                label="Password"
                autoComplete="current-password"
                required
                // The methods may have loaded after the dialog moved the focus.
                autoFocus
                data-autofocus
              />
              {hasFactor && (
                <CodeField
                  {...form.getInputProps("code")}
                  key={form.key("code")}
                  autoFocus={isCodeNeeded}
                  mt={16}
                />
              )}
            </>
          )
        )}
        {methods?.openid?.identity && <ProviderButton name={methods.openid.name} />}
        {hasPasskeys && <PasskeyButton onConfirmed={() => answer?.(true)} />}
        <Group justify="flex-end" gap={8} mt={16}>
          <Button variant="default" onClick={onClose} disabled={confirm.isPending}>
            Cancel
          </Button>
          {hasPassword && (
            <BusyButton type="submit" disabled={isPending} loading={confirm.isPending}>
              Confirm
            </BusyButton>
          )}
        </Group>
      </form>
    </Modal>
  );
}

/** Confirms by another sign-in with the OpenID provider, which leaves the page and returns to it. */
function ProviderButton({ name }: { readonly name: string }): ReactElement {
  const start = useMutation(
    trpc.account.startOpenid.mutationOptions({
      onSuccess: ({ url }) => {
        const { pathname, search } = window.location;
        // If the form has input, the browser asks whether to leave. If the user stays, the window gets the focus again.
        window.addEventListener("focus", start.reset, { once: true });
        goToProvider(url, { use: "confirmation", next: pathname + search }, start.reset);
      },
    }),
  );
  const failure = start.error ? describeFailure(start.error) : undefined;
  return (
    <>
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <Button
        variant="default"
        fullWidth
        mt={16}
        loading={start.isPending || start.isSuccess}
        onClick={() => start.mutate({ use: "confirmation" })}
      >
        {`Confirm with ${name}`}
      </Button>
      <p className={classes.words}>You’ll return to this page. Your input is not kept, so enter it again.</p>
    </>
  );
}

/** Confirms with a passkey instead. */
function PasskeyButton({ onConfirmed }: { readonly onConfirmed: () => void }): ReactElement | null {
  const { passkeyOrigin } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const start = useMutation(trpc.account.startPasskey.mutationOptions());
  const finish = useMutation(trpc.account.confirmPasskey.mutationOptions());
  const passkey = usePasskey(async () => {
    const optionsJSON = await start.mutateAsync();
    const { startAuthentication } = await loadPasskeyLibrary();
    await finish.mutateAsync({ response: await startAuthentication({ optionsJSON }) });
    onConfirmed();
  });
  if (!canUsePasskeys(passkeyOrigin)) return null;
  return (
    <>
      {passkey.failure && (
        <div className={classes.failure}>
          <FormFailure {...passkey.failure} />
        </div>
      )}
      <Button
        variant="default"
        fullWidth
        mt={16}
        loading={passkey.isBusy}
        onClick={() => void passkey.start()}
      >
        Use a passkey instead
      </Button>
    </>
  );
}

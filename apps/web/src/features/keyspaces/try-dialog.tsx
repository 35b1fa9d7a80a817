import { verificationLimits } from "@latchkey/limits";
import { Button, Group, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type Keyspace, type SessionWorkspace, trpcClient } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { formatCount } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";
import classes from "./fields.module.css";
import { refreshKeys } from "./refresh-keys.ts";
import { VerificationVerdict } from "./verification-verdict.tsx";

interface TryDialogProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Verifies a pasted key of a keyspace. Closing the dialog unmounts the form, which discards the key. */
export function TryDialog(props: TryDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={false}
      title="Try a key"
      size={640}
      onClose={onClose}
      closeOnClickOutside={false}
    >
      <Form {...props} />
    </FormDialog>
  );
}

const { maxCost, maxKeyLength } = verificationLimits;
const initialValues = { key: "", permissions: "", clientIp: "", cost: "0" };
type TriedKey = Parameters<typeof trpcClient.issuedKeys.verify.mutate>[0];

/** The key exists only in its field and in the request. */
function Form({ workspace, keyspace, onClose }: TryDialogProps): ReactElement {
  const submitted = useRef<TriedKey>(undefined);
  const verification = useMutation({
    // The key is not a variable of the mutation, because the mutation cache keeps variables.
    mutationFn: async () => {
      const request = submitted.current;
      submitted.current = undefined;
      if (!request) throw new Error("The check was not run.");
      return await trpcClient.issuedKeys.verify.mutate(request);
    },
    // The key may have been issued elsewhere since the page was loaded.
    onSuccess: () => void refreshKeys(),
  });
  const form = useForm({
    name: "try-issued-key",
    mode: "uncontrolled",
    initialValues,
    // A result is about the request that was sent, not about changed input.
    onValuesChange: () => verification.reset(),
    validate: {
      key(text) {
        if (text.trim() === "") return "Paste a key.";
        return text.trim().length > maxKeyLength ? `Use at most ${maxKeyLength} characters.` : null;
      },
      cost: (text) =>
        isWholeNumber(text, { min: 0, max: maxCost })
          ? null
          : `Enter a whole number from 0 to ${formatCount(maxCost)}.`,
    },
  });
  // After the result was shown, the input can be discarded without asking.
  useUnsavedInput(() => form.isDirty() && !verification.isSuccess);
  const result = useRef<HTMLDivElement>(null);
  // On a phone, the form fills the window.
  useEffect(() => {
    if (verification.data) result.current?.scrollIntoView({ block: "nearest" });
  }, [verification.data]);
  const failure = verification.error ? describeFailure(verification.error) : undefined;
  return (
    <form
      className={dialogClasses.form}
      noValidate
      autoComplete="off"
      onSubmit={form.onSubmit(({ key, permissions, clientIp, cost }) => {
        if (verification.isPending) return;
        submitted.current = {
          workspaceId: workspace.id,
          keyspaceId: keyspace.id,
          key: key.trim(),
          cost: Number(cost),
          ...(permissions.trim() !== "" && { permissions: permissions.trim() }),
          ...(clientIp.trim() !== "" && { clientIp: clientIp.trim() }),
        };
        verification.mutate(undefined, { onError: (error) => showIssues(form, error) });
      }, focusFirstError(form.getInputNode))}
    >
      <SecretField
        {...form.getInputProps("key")}
        key={form.key("key")}
        label="Key"
        description="The key is verified as in your API. It is neither stored nor logged."
        placeholder={`${keyspace.prefix}_…`}
        classNames={{ innerInput: classes.mono ?? "" }}
        autoComplete="off"
        data-1p-ignore
        data-lpignore="true"
        data-bwignore
        spellCheck={false}
        data-autofocus
      />
      <TextInput
        {...form.getInputProps("permissions")}
        key={form.key("permissions")}
        classNames={{ input: classes.mono ?? "" }}
        label="Required permissions"
        description="A query with AND, OR and parentheses. Optional."
        placeholder="documents.read OR admin"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <div className={classes.row}>
        <TextInput
          {...form.getInputProps("clientIp")}
          key={form.key("clientIp")}
          className={classes.wide}
          classNames={{ input: classes.mono ?? "" }}
          label="IP address of the consumer"
          description="Needed for a key with IP ranges."
          placeholder="203.0.113.7"
          autoComplete="off"
          spellCheck={false}
        />
        <TextInput
          {...form.getInputProps("cost")}
          key={form.key("cost")}
          className={classes.wide}
          label="Cost"
          description="With 0, nothing is spent and no use is counted."
          inputMode="numeric"
          autoComplete="off"
        />
      </div>
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <div role="status" ref={result}>
        {verification.data && (
          <VerificationVerdict workspace={workspace} result={verification.data} onOpen={onClose} />
        )}
      </div>
      <Group justify="flex-end" gap={8} className={dialogClasses.foot}>
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <BusyButton type="submit" loading={verification.isPending}>
          Verify key
        </BusyButton>
      </Group>
    </form>
  );
}

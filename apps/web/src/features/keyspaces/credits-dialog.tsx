import { issuedKeyLimits } from "@latchkey/limits";
import { Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { replaceData } from "../../server/replace-data.ts";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";
import classes from "./fields.module.css";

interface CreditsDialogProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const changes = { add: "Add", subtract: "Subtract", set: "Set to" } as const;
type Change = keyof typeof changes;
const { maxCredits } = issuedKeyLimits;

/** Changes the balance of a key. Adding and subtracting don't overwrite concurrent uses. */
export function CreditsDialog(props: CreditsDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.issuedKeyCredits.change.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Change the balance" size={480} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

function Form({ workspaceId, issuedKey, onClose }: CreditsDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm({
    name: "credits",
    mode: "controlled",
    initialValues: { change: "add" as Change, amount: "" },
    validate: {
      amount: (amount: string, { change }: { readonly change: Change }) => {
        const min = change === "set" ? 0 : 1;
        return isWholeNumber(amount, { min, max: maxCredits })
          ? null
          : `Enter a whole number from ${min} to ${formatCount(maxCredits)}.`;
      },
    },
  });
  useUnsavedInput(form.isDirty);
  const path = { workspaceId, keyspaceId: issuedKey.keyspaceId, id: issuedKey.id };
  // When a response was lost, in milliseconds since 1970.
  const [lostAt, setLostAt] = useState(0);
  const { dataUpdatedAt } = useQuery(trpc.issuedKeys.get.queryOptions(path));
  const save = useMutation(
    trpc.issuedKeyCredits.change.mutationOptions({
      onSuccess: async (key) => {
        await replaceData(queryClient, trpc.issuedKeys.get.queryKey(path), key);
        void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.list.pathKey() });
        onClose();
        notifications.show({
          message: `The balance is ${formatCount(key.credits?.remaining ?? 0)}.`,
        });
      },
      onError: (error) => {
        if (describeFailure(error).code !== "NO_ANSWER") return;
        setLostAt(Date.now());
        // Cancels a call in flight, whose response can be from before the change.
        void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
      },
    }),
  );
  const failure = save.error ? describeFailure(save.error) : undefined;
  const isCurrent = dataUpdatedAt > lostAt;
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={form.onSubmit(({ change, amount }) => {
        if (!save.isPending) save.mutate({ ...path, change: { [change]: Number(amount) } });
      }, focusFirstError(form.getInputNode))}
    >
      {failure && (
        <FormFailure
          message={failure.code === "NO_ANSWER" ? describeLostChange(isCurrent) : failure.message}
          requestId={failure.requestId}
        />
      )}
      <p className={dialogClasses.words}>
        The balance is {formatCount(issuedKey.credits?.remaining ?? 0)}. Concurrent uses are counted exactly,
        and the balance never falls below 0.
      </p>
      <div className={classes.row}>
        <Select
          {...form.getInputProps("change")}
          className={classes.narrow}
          label="Change"
          data={Object.entries(changes).map(([value, label]) => ({ value, label }))}
          allowDeselect={false}
        />
        <TextInput
          {...form.getInputProps("amount")}
          className={classes.wide}
          label="Credits"
          inputMode="numeric"
          autoComplete="off"
          data-autofocus
        />
      </div>
      <FormActions action="Change balance" isBusy={save.isPending} onCancel={onClose} />
    </form>
  );
}

/** Doesn't suggest trying again, because the credits would be added or subtracted twice if the change was made. */
function describeLostChange(isCurrent: boolean): string {
  const balance = isCurrent ? "The balance below was loaded after that." : "Loading the current balance…";
  return `The server didn’t respond. The change may have been made. ${balance}`;
}

import { Button, Group } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Consumer, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { ConflictNotice } from "./conflict-notice.tsx";
import { useFieldIssues } from "./field-issues.ts";
import { LimitFields } from "./limit-fields.tsx";
import { type ConsumerValues, limitRules, readLimits, toLimits } from "./limit-values.ts";

interface EditConsumerDialogProps {
  readonly workspaceId: string;
  readonly consumer: Consumer;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Changes the rate limits that all keys of a consumer share. */
export function EditConsumerDialog(props: EditConsumerDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.consumers.update.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isSaving}
      title="Edit shared rate limits"
      size={560}
      onClose={onClose}
    >
      <Loaded {...props} />
    </FormDialog>
  );
}

/**
 * Saves only if the consumer still has the version that the user saw. A conflict restarts the form from the current
 * version.
 */
function Loaded({ workspaceId, consumer, onClose }: EditConsumerDialogProps): ReactElement {
  const queryClient = useQueryClient();
  // The page reads the consumer again while the dialog is open.
  const [base, setBase] = useState(consumer);
  const [hasConflict, setHasConflict] = useState(false);
  const { keyspaceId, externalId } = consumer;
  const path = { workspaceId, keyspaceId, externalId };
  const update = useMutation(
    trpc.consumers.update.mutationOptions({
      onSuccess: async (changed) => {
        queryClient.setQueryData(trpc.consumers.get.queryKey(path), changed);
        await queryClient.invalidateQueries({ queryKey: trpc.consumers.list.pathKey() });
        onClose();
        notifications.show({ message: "Shared rate limits saved." });
      },
      onError: async (error) => {
        if (describeFailure(error).code !== "PRECONDITION_FAILED") return;
        const options = trpc.consumers.get.queryOptions(path, { staleTime: 0 });
        setBase(await queryClient.fetchQuery(options));
        setHasConflict(true);
      },
    }),
  );
  return (
    <Form
      key={base.version}
      consumer={base}
      error={hasConflict ? undefined : update.error}
      notice={hasConflict && <ConflictNotice noun="consumer" />}
      isBusy={update.isPending}
      onSubmit={(limits) => {
        if (JSON.stringify(limits) === JSON.stringify(base.limits)) return onClose();
        setHasConflict(false);
        update.mutate({ ...path, version: base.version, changes: { limits } });
      }}
      onCancel={onClose}
    />
  );
}

interface FormProps {
  readonly consumer: Consumer;
  readonly error: unknown;
  /** Shown above the fields. */
  readonly notice: ReactNode;
  readonly isBusy: boolean;
  readonly onSubmit: (limits: Consumer["limits"]) => void;
  readonly onCancel: () => void;
}

function Form({ consumer, error, notice, isBusy, onSubmit, onCancel }: FormProps): ReactElement {
  const form = useForm<ConsumerValues>({
    name: "consumer",
    mode: "controlled",
    initialValues: { limits: readLimits(consumer.limits) },
    validate: { limits: limitRules },
  });
  useUnsavedInput(form.isDirty);
  const failure = useFieldIssues(form, error);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={form.onSubmit(({ limits }) => {
        if (!isBusy) onSubmit(toLimits(limits));
      }, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <LimitFields
        form={form}
        help="All keys of the consumer share these limits, in addition to the limits of each key. A verification that exceeds a limit spends nothing."
      />
      <Group justify="flex-end" gap={8} className={dialogClasses.foot}>
        <Button variant="default" onClick={onCancel} disabled={isBusy}>
          Cancel
        </Button>
        <BusyButton type="submit" loading={isBusy}>
          Save
        </BusyButton>
      </Group>
    </form>
  );
}

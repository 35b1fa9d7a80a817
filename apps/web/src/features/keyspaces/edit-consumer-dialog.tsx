import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { replaceData } from "../../server/replace-data.ts";
import { type Consumer, trpc } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useLatestValues } from "../../ui/use-latest-values.ts";
import { LimitFields } from "./limit-fields.tsx";
import { type ConsumerValues, describeNamedLimit, limitRules, readLimits, toLimits } from "./limit-values.ts";
import { SettingsForm, type SettingsFormProps } from "./settings-form.tsx";

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

/** Saves only if the consumer still has the version that the user saw. */
function Loaded({ workspaceId, consumer, onClose }: EditConsumerDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const { keyspaceId, externalId } = consumer;
  const path = { workspaceId, keyspaceId, externalId };
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "consumer",
    item: consumer,
    load: () => queryClient.fetchQuery(trpc.consumers.get.queryOptions(path, { staleTime: 0 })),
    describe: ({ limits }) => ({ "Rate limits": limits.map(describeNamedLimit).join("\n") }),
  });
  const update = useMutation(
    trpc.consumers.update.mutationOptions({
      onSuccess: async (changed) => {
        await replaceData(queryClient, trpc.consumers.get.queryKey(path), changed);
        await queryClient.invalidateQueries({ queryKey: trpc.consumers.list.pathKey() });
        onClose();
        notifications.show({ message: "Shared rate limits saved." });
      },
      onError,
    }),
  );
  return (
    <Form
      limits={base.limits}
      action="Save"
      error={omitReported(update.error)}
      notice={notice}
      isBusy={update.isPending}
      onSubmit={(limits) => {
        if (JSON.stringify(limits) === JSON.stringify(base.limits)) return onClose();
        clear();
        update.mutate({ ...path, version: base.version, changes: { limits } });
      }}
      onCancel={onClose}
    />
  );
}

interface FormProps extends SettingsFormProps<Consumer["limits"]> {
  readonly limits: Consumer["limits"];
}

function Form({ limits, onSubmit, ...frame }: FormProps): ReactElement {
  const initialValues = { limits: readLimits(limits) };
  const form = useForm<ConsumerValues>({
    name: "consumer",
    mode: "controlled",
    initialValues,
    validate: { limits: limitRules },
  });
  useLatestValues(form, initialValues);
  return (
    <SettingsForm {...frame} form={form} onSubmit={(values) => onSubmit(toLimits(values.limits))}>
      <LimitFields
        form={form}
        help="All keys of the consumer share these limits, in addition to the limits of each key. A verification that exceeds a limit spends nothing."
      />
    </SettingsForm>
  );
}

import { Button, Group, Modal } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { ApiKeyFields, type ApiKeyValues, apiKeyRules, trimmed } from "./api-key-fields.tsx";
import classes from "./dialog.module.css";

interface EditApiKeyDialogProps {
  /** The key to edit; the dialog is open while there is one. */
  readonly apiKey: ApiKey | undefined;
  readonly onClose: () => void;
}

export function EditApiKeyDialog({ apiKey, onClose }: EditApiKeyDialogProps): ReactElement {
  return (
    <Modal opened={apiKey !== undefined} onClose={onClose} title="Edit API key" size={480}>
      {apiKey && <EditApiKeyForm apiKey={apiKey} onClose={onClose} />}
    </Modal>
  );
}

interface EditApiKeyFormProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

function EditApiKeyForm({ apiKey, onClose }: EditApiKeyFormProps): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm<ApiKeyValues>({
    mode: "uncontrolled",
    initialValues: { name: apiKey.name, description: apiKey.description },
    validate: apiKeyRules,
  });
  const update = useMutation(
    trpc.apiKeys.update.mutationOptions({
      onSuccess: async ({ name }) => {
        await queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
        onClose();
        notifications.show({ message: `“${name}” is saved.` });
      },
      onError: (error) => {
        for (const { path, message } of describeFailure(error).issues) form.setFieldError(path, message);
      },
    }),
  );
  const failure = update.error ? describeFailure(update.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        (values) => update.mutate({ id: apiKey.id, ...trimmed(values) }),
        focusFirstError(form.getInputNode),
      )}
    >
      {failure && failure.issues.length === 0 && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <ApiKeyFields form={form} />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={update.isPending}>
          Save
        </Button>
      </Group>
    </form>
  );
}

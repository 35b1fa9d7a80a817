import { Button, Group } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { OverlapFields } from "../../ui/overlap-fields.tsx";
import { type OverlapValues, overlapRules, readOverlapSeconds } from "../../ui/overlap-values.ts";
import { Quoted } from "../../ui/quoted.tsx";
import type { SecretFormProps } from "../../ui/secret-dialog.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { ApiKeySecretDialog } from "./api-key-secret-dialog.tsx";

interface RotateDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Rotates a key and shows the new secret once. */
export function RotateDialog({ apiKey, isOpen, onClose }: RotateDialogProps): ReactElement {
  const isRotating = useIsMutating({ mutationKey: trpc.apiKeys.rotate.mutationKey() }) > 0;
  return (
    <ApiKeySecretDialog
      isOpen={isOpen}
      isBusy={isRotating}
      title={
        <>
          Rotate <Quoted>{apiKey.name}</Quoted>
        </>
      }
      onClose={onClose}
      form={(formProps) => <RotateForm {...formProps} apiKey={apiKey} />}
    />
  );
}

interface RotateFormProps extends SecretFormProps {
  readonly apiKey: ApiKey;
}

/**
 * Unmounts when the key is rotated. Its mutation, whose response contains the secret, is then
 * garbage collected.
 */
function RotateForm({ apiKey, onCreated, onCancel }: RotateFormProps): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm<OverlapValues>({
    mode: "controlled",
    initialValues: { choice: "86400", amount: "", unit: "3600" },
    validate: overlapRules,
  });
  useUnsavedInput(form.isDirty);
  const rotate = useMutation(
    trpc.apiKeys.rotate.mutationOptions({
      // The response contains the secret and must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ key }) => {
        onCreated({ name: apiKey.name, secret: key });
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
    }),
  );
  const failure = rotate.error ? describeFailure(rotate.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((values) => {
        if (!rotate.isPending) rotate.mutate({ id: apiKey.id, overlapSeconds: readOverlapSeconds(values) });
      }, focusFirstError(form.getInputNode))}
    >
      <p className={classes.words}>
        The key gets a new secret and keeps its settings. Replace the old secret wherever it is used while it
        is still valid.
      </p>
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <OverlapFields form={form} />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onCancel} disabled={rotate.isPending}>
          Cancel
        </Button>
        <BusyButton type="submit" loading={rotate.isPending}>
          Rotate key
        </BusyButton>
      </Group>
    </form>
  );
}

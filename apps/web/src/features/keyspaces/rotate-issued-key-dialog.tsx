import { Button, Group } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { OverlapFields } from "../../ui/overlap-fields.tsx";
import { type OverlapValues, overlapRules, readOverlapSeconds } from "../../ui/overlap-values.ts";
import { Quoted } from "../../ui/quoted.tsx";
import type { SecretFormProps } from "../../ui/secret-dialog.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { IssuedSecretDialog } from "./issued-secret-dialog.tsx";

interface RotateIssuedKeyDialogProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Rotates a key, then shows its new secret once. */
export function RotateIssuedKeyDialog(props: RotateIssuedKeyDialogProps): ReactElement {
  const { issuedKey, isOpen, onClose } = props;
  const isRotating = useIsMutating({ mutationKey: trpc.issuedKeys.rotate.mutationKey() }) > 0;
  return (
    <IssuedSecretDialog
      isOpen={isOpen}
      isBusy={isRotating}
      title={
        <>
          Rotate <Quoted>{titleOfKey(issuedKey)}</Quoted>
        </>
      }
      onClose={onClose}
      form={(formProps) => <Form {...props} {...formProps} />}
    />
  );
}

/** Unmounts when the key is rotated, so that its mutation, whose response has the secret, is garbage collected. */
function Form(props: RotateIssuedKeyDialogProps & SecretFormProps): ReactElement {
  const { workspaceId, issuedKey, onCreated, onCancel } = props;
  const queryClient = useQueryClient();
  const form = useForm<OverlapValues>({
    mode: "controlled",
    initialValues: { choice: "86400", amount: "", unit: "3600" },
    validate: overlapRules,
  });
  useUnsavedInput(form.isDirty);
  const rotate = useMutation(
    trpc.issuedKeys.rotate.mutationOptions({
      // The response contains the secret and must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ name, key }) => {
        onCreated({ name, secret: key });
        void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
      },
    }),
  );
  const failure = rotate.error ? describeFailure(rotate.error) : undefined;
  const { id, keyspaceId } = issuedKey;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((values) => {
        if (rotate.isPending) return;
        rotate.mutate({ workspaceId, keyspaceId, id, overlapSeconds: readOverlapSeconds(values) });
      }, focusFirstError(form.getInputNode))}
    >
      <p className={classes.words}>
        The key gets a new secret and keeps its settings. The consumer can replace the old secret while it is
        still valid.
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

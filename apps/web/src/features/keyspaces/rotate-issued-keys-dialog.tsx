import { Button, Group } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type BulkRotation, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { OverlapFields } from "../../ui/overlap-fields.tsx";
import { type OverlapValues, overlapRules, readOverlapSeconds } from "../../ui/overlap-values.ts";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { refreshKeys } from "./refresh-keys.ts";
import { RotatedKeys } from "./rotated-keys.tsx";
import type { KeyspacePath } from "./use-keyspaces.ts";

interface RotateIssuedKeysDialogProps {
  readonly isOpen: boolean;
  readonly path: KeyspacePath;
  readonly title: ReactNode;
  readonly choice: { readonly keyIds: readonly string[] } | { readonly externalId: string };
  /** How many keys are expected to get a new secret. */
  readonly keyCount: number;
  /** Called when the keys have new secrets, which the dialog still shows. */
  readonly onRotated?: () => void;
  readonly onClose: () => void;
}

/** Rotates several keys, then offers their new secrets as a file, once. */
export function RotateIssuedKeysDialog(props: RotateIssuedKeysDialogProps): ReactElement {
  const { isOpen, title, onRotated, onClose } = props;
  const isRotating = useIsMutating({ mutationKey: trpc.issuedKeyBulk.rotate.mutationKey() }) > 0;
  // The secrets are stored only here, so that closing or reloading discards them.
  const [result, setResult] = useState<BulkRotation>();
  const close = () => {
    onClose();
    // The button that opened the dialog was removed with the selection.
    if (result && onRotated) document.getElementById("content")?.focus();
    setResult(undefined);
  };
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isRotating}
      closeOnClickOutside={!result}
      title={result ? "Download the new secrets" : title}
      size={520}
      onClose={close}
    >
      {result ? (
        <RotatedKeys result={result} onDone={close} />
      ) : (
        <Form
          {...props}
          onCancel={close}
          onDone={(rotation) => {
            setResult(rotation);
            onRotated?.();
          }}
        />
      )}
    </FormDialog>
  );
}

interface FormProps extends RotateIssuedKeysDialogProps {
  readonly onDone: (result: BulkRotation) => void;
  readonly onCancel: () => void;
}

/** Unmounts when the keys are rotated, so that its mutation, whose response has the secrets, is garbage collected. */
function Form({ path, choice, keyCount, onDone, onCancel }: FormProps): ReactElement {
  const form = useForm<OverlapValues>({
    mode: "controlled",
    initialValues: { choice: "86400", amount: "", unit: "3600" },
    validate: overlapRules,
  });
  useUnsavedInput(form.isDirty);
  const rotate = useMutation(
    trpc.issuedKeyBulk.rotate.mutationOptions({
      // The response contains the secrets and must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: (result) => {
        onDone(result);
        void refreshKeys();
      },
    }),
  );
  const failure = rotate.error ? describeFailure(rotate.error) : undefined;
  const keys = countOf(keyCount, "key", "keys");
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((values) => {
        if (rotate.isPending) return;
        rotate.mutate({
          ...path,
          rotation: { ...toRequest(choice), overlapSeconds: readOverlapSeconds(values) },
        });
      }, focusFirstError(form.getInputNode))}
    >
      <p className={classes.words}>
        {keyCount === 1
          ? `${keys} gets a new secret and keeps its`
          : `${keys} get new secrets and keep their`}{" "}
        settings. Consumers can replace an old secret while it is still valid. You download the new secrets as
        a file in the next step.
      </p>
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <OverlapFields form={form} />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onCancel} disabled={rotate.isPending}>
          Cancel
        </Button>
        <BusyButton type="submit" loading={rotate.isPending}>
          Rotate {keys}
        </BusyButton>
      </Group>
    </form>
  );
}

function toRequest(choice: RotateIssuedKeysDialogProps["choice"]) {
  return "keyIds" in choice ? { keyIds: [...choice.keyIds] } : choice;
}

import { useForm } from "@mantine/form";
import type { ReactElement, ReactNode } from "react";
import classes from "../ui/dialog.module.css";
import { focusFirstError } from "../ui/focus-first-error.ts";
import { FormActions } from "../ui/form-actions.tsx";
import { FormFailure } from "../ui/form-failure.tsx";
import { OverlapFields } from "../ui/overlap-fields.tsx";
import { type OverlapValues, overlapRules, readOverlapSeconds } from "../ui/overlap-values.ts";
import { useUnsavedInput } from "../ui/unsaved-input.ts";
import { describeFailure } from "./failure.ts";

interface RotationFormProps {
  /** What the rotation does. */
  readonly explanation: ReactNode;
  /** How many keys it rotates. */
  readonly keyCount: number;
  /** The label of the button that rotates. */
  readonly action: string;
  /** Why the last attempt failed. */
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly onRotate: (overlapSeconds: number) => void;
  readonly onCancel: () => void;
}

/** The form of a dialog that rotates keys, with the time for which the old secrets stay valid. */
export function RotationForm(props: RotationFormProps): ReactElement {
  const { explanation, keyCount, action, error, isBusy, onRotate, onCancel } = props;
  const failure = error === null ? undefined : describeFailure(error);
  const form = useForm<OverlapValues>({
    mode: "controlled",
    initialValues: { choice: "86400", amount: "", unit: "3600" },
    validate: overlapRules,
  });
  useUnsavedInput(form.isDirty);
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((values) => {
        if (!isBusy) onRotate(readOverlapSeconds(values));
      }, focusFirstError(form.getInputNode))}
    >
      <p className={classes.words}>{explanation}</p>
      {failure && (
        <FormFailure
          message={failure.code === "NO_ANSWER" ? describeLostResponse(keyCount) : failure.message}
          requestId={failure.requestId}
        />
      )}
      <OverlapFields form={form} />
      <FormActions action={action} isBusy={isBusy} onCancel={onCancel} />
    </form>
  );
}

function describeLostResponse(keyCount: number): string {
  return keyCount === 1
    ? "The server didn’t respond. The key may have a new secret, which can’t be shown. The old one then stays valid only for the time that you chose. Rotate the key again to get a secret that you can copy."
    : "The server didn’t respond. The keys may have new secrets, which can’t be shown. The old ones then stay valid only for the time that you chose. Rotate the keys again to get secrets that you can download.";
}

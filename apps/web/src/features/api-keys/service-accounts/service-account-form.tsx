import { maxLength } from "@latchkey/limits";
import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { type ReactElement, type ReactNode, useEffect, useEffectEvent } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { RoleSelect } from "../../../server/role-select.tsx";
import { hasIssueOf, showIssues } from "../../../server/show-issues.ts";
import type { Role, ServiceAccount } from "../../../server/trpc.ts";
import { collapseSpaces } from "../../../ui/collapse-spaces.ts";
import { describeLengthError } from "../../../ui/describe-length-error.ts";
import classes from "../../../ui/dialog.module.css";
import { focusFirstError } from "../../../ui/focus-first-error.ts";
import { FormActions } from "../../../ui/form-actions.tsx";
import { FormFailure } from "../../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../../ui/unsaved-input.ts";
import { useLatestValues } from "../../../ui/use-latest-values.ts";

type ServiceAccountValues = Pick<ServiceAccount, "name" | "role">;

interface ServiceAccountFormProps {
  readonly initialValues: ServiceAccountValues;
  readonly grantableRoles: readonly Role[];
  /** The label of the button that submits. */
  readonly action: string;
  readonly error: unknown;
  /** What to show if the server didn't respond, for a change that must not be repeated blindly. */
  readonly lostResponse?: string;
  /** Shown above the fields. */
  readonly notice?: ReactNode;
  readonly isBusy: boolean;
  /** @param markSaved call it before another page opens, so that nothing asks whether to discard the input. */
  readonly onSubmit: (values: ServiceAccountValues, markSaved: () => void) => void;
  readonly onCancel: () => void;
}

/** The form of a new service account, or of an edit. */
export function ServiceAccountForm(props: ServiceAccountFormProps): ReactElement {
  const { initialValues, grantableRoles, action, error, lostResponse, notice, isBusy } = props;
  const { onSubmit, onCancel } = props;
  const form = useForm<ServiceAccountValues>({
    // Named, because a page can contain two forms with a field of this name.
    name: "service-account",
    mode: "uncontrolled",
    initialValues,
    validate: {
      name: (name) => {
        const collapsed = collapseSpaces(name);
        return collapsed === ""
          ? "Enter a name, such as the integration that uses it."
          : describeLengthError(collapsed, maxLength.serviceAccountName);
      },
    },
  });
  useUnsavedInput(form.isDirty);
  useLatestValues(form, initialValues);
  const show = useEffectEvent((rejection: unknown) => showIssues(form, rejection));
  useEffect(() => {
    if (error) show(error);
  }, [error]);
  const failure = error ? describeFailure(error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onReset={form.onReset}
      onSubmit={form.onSubmit(({ name, role }) => {
        if (!isBusy) onSubmit({ name: collapseSpaces(name), role }, () => form.resetDirty());
      }, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure
          message={(failure.code === "NO_ANSWER" && lostResponse) || failure.message}
          requestId={failure.requestId}
        />
      )}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        description="What the integration is. Shown to members and in the audit log."
        placeholder="Deploy pipeline"
        autoComplete="off"
        dir="auto"
        data-autofocus
        required
        withAsterisk={false}
      />
      <RoleSelect
        {...form.getInputProps("role")}
        key={form.key("role")}
        help="What its API keys can do in this workspace, unless they are restricted."
        roles={grantableRoles.filter((role) => role !== "owner")}
      />
      <FormActions action={action} isBusy={isBusy} onCancel={onCancel} />
    </form>
  );
}

import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type Session, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { checkName } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import classes from "./account-form.module.css";

/** Changes the user's name. */
export function NameForm({ user }: { readonly user: Session["user"] }): ReactElement {
  const router = useRouter();
  const queryClient = useQueryClient();
  const form = useForm({
    // Named, because the page contains two forms.
    name: "name",
    mode: "uncontrolled",
    initialValues: { name: user.name },
    validate: { name: checkName },
  });
  useUnsavedInput(form.isDirty);
  const rename = useMutation(
    trpc.account.rename.mutationOptions({
      onSuccess: async ({ name }, submitted) => {
        queryClient.setQueryData(
          trpc.session.current.queryKey(),
          (session) => session && { ...session, user: { ...session.user, name } },
        );
        // Keeps what was typed while the call was in flight.
        if (collapseSpaces(form.getValues().name) === submitted.name) form.setValues({ name });
        form.resetDirty({ name });
        await router.invalidate();
        notifications.show({ message: "Your name was changed." });
      },
      onError: (error) => showIssues(form, error),
    }),
  );
  const failure = rename.error ? describeFailure(rename.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        ({ name }) => rename.mutate({ name: collapseSpaces(name) }),
        focusFirstError(form.getInputNode),
      )}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        description="Shown to the members of your workspaces."
        dir="auto"
        autoComplete="name"
        required
        withAsterisk={false}
      />
      <BusyButton className={classes.submit} type="submit" loading={rename.isPending}>
        Save
      </BusyButton>
    </form>
  );
}

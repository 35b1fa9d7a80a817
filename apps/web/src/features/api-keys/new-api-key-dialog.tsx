import { Select } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { findHomeWorkspace } from "../../server/remembered-workspace.ts";
import { trpc } from "../../server/trpc.ts";
import { ApiKeyForm } from "./api-key-form.tsx";
import { suggestedRestrictions, type TemplateName, templates } from "./restrictions/restriction-values.ts";
import { useRestrictionForm } from "./restrictions/use-restriction-form.ts";
import { SecretDialog, type SecretFormProps } from "./secret-dialog.tsx";

interface NewApiKeyDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const app = getRouteApi("/app");
const empty = { name: "", description: "" };

/** Asks for a name and restrictions, then shows the new key once. */
export function NewApiKeyDialog({ isOpen, onClose }: NewApiKeyDialogProps): ReactElement {
  const isSaving = useIsMutating({ mutationKey: trpc.apiKeys.create.mutationKey() }) > 0;
  return (
    <SecretDialog
      isOpen={isOpen}
      isBusy={isSaving}
      title="New API key"
      onClose={onClose}
      form={(formProps) => <NewApiKeyForm {...formProps} />}
    />
  );
}

/**
 * Unmounts when the key is created. Its mutation, whose response contains the secret, is then
 * garbage collected.
 */
function NewApiKeyForm({ onCreated, ...props }: SecretFormProps): ReactElement {
  const queryClient = useQueryClient();
  const restrictions = useRestrictionForm(suggestedRestrictions);
  const { workspaces } = app.useRouteContext().session;
  const workspaceId = findHomeWorkspace(workspaces)?.id;
  const create = useMutation(
    trpc.apiKeys.create.mutationOptions({
      // The response contains the secret and must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ key }, { name }) => {
        onCreated({ name, secret: key });
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
    }),
  );
  return (
    <ApiKeyForm
      {...props}
      initialValues={empty}
      restrictions={restrictions}
      template={
        <Select
          label="Template"
          description="Fills in restrictions for a common use. You can change each of them."
          allowDeselect={false}
          data={Object.entries(templates).map(([value, { label }]) => ({ value, label }))}
          defaultValue="custom"
          onChange={(name) => {
            restrictions.setValues(templates[name as TemplateName].restrictions(workspaceId)); // One of the options.
            restrictions.clearErrors();
          }}
        />
      }
      onSave={(values, settings) => create.mutateAsync({ ...values, ...(settings && { settings }) })}
    />
  );
}

import { Select } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { findHomeWorkspace } from "../../server/remembered-workspace.ts";
import { trpc } from "../../server/trpc.ts";
import { ApiKeyForm } from "./api-key-form.tsx";
import {
  changeTemplate,
  suggestedRestrictions,
  type TemplateName,
  templates,
} from "./restrictions/restriction-values.ts";
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
  const [template, setTemplate] = useState<TemplateName>("custom");
  const applyTemplate = (name: TemplateName) => {
    const before = templates[template].restrictions(workspaceId);
    const after = templates[name].restrictions(workspaceId);
    restrictions.setValues(changeTemplate(restrictions.getValues(), before, after));
    restrictions.clearErrors();
    setTemplate(name);
  };
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
          description="Fills in restrictions for a common use. Values that you entered are kept."
          allowDeselect={false}
          data={Object.entries(templates).map(([value, { label }]) => ({ value, label }))}
          value={template}
          onChange={(name) => applyTemplate(name as TemplateName)} // One of the options.
        />
      }
      onSave={(values, settings) => create.mutateAsync({ ...values, ...(settings && { settings }) })}
    />
  );
}

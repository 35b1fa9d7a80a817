import { Select } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { type Failure, isResponseLost } from "../../server/failure.ts";
import { findHomeWorkspace } from "../../server/remembered-workspace.ts";
import { trpc } from "../../server/trpc.ts";
import type { SecretFormProps } from "../../ui/secret-dialog.tsx";
import { ApiKeyForm } from "./api-key-form.tsx";
import { ApiKeySecretDialog } from "./api-key-secret-dialog.tsx";
import {
  changeTemplate,
  suggestedRestrictions,
  type TemplateName,
  templates,
} from "./restrictions/restriction-values.ts";
import { useRestrictionForm } from "./restrictions/use-restriction-form.ts";

interface NewApiKeyDialogProps {
  /** The service account that owns the key; undefined for the user. */
  readonly serviceAccount?: { readonly workspaceId: string; readonly userId: string } | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const app = getRouteApi("/app");
/** Templates that a service account doesn't need, because it belongs to one workspace. */
const workspaceTemplates: ReadonlySet<string> = new Set<TemplateName>(["one-workspace", "ci-job"]);
const empty = { name: "", description: "" };

/** Asks for a name and restrictions, then shows the new key once. */
export function NewApiKeyDialog({ serviceAccount, isOpen, onClose }: NewApiKeyDialogProps): ReactElement {
  const isSavingOwn = useIsMutating({ mutationKey: trpc.apiKeys.create.mutationKey() }) > 0;
  const isSaving =
    useIsMutating({ mutationKey: trpc.serviceAccounts.createKey.mutationKey() }) > 0 || isSavingOwn;
  return (
    <ApiKeySecretDialog
      isOpen={isOpen}
      isBusy={isSaving}
      title="New API key"
      onClose={onClose}
      form={(formProps) => <NewApiKeyForm {...formProps} serviceAccount={serviceAccount} />}
    />
  );
}

/**
 * Unmounts when the key is created. Its mutation, whose response contains the secret, is then
 * garbage collected.
 */
function NewApiKeyForm({
  onCreated,
  serviceAccount,
  ...props
}: SecretFormProps & Pick<NewApiKeyDialogProps, "serviceAccount">): ReactElement {
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
  const refresh = () => {
    void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
    void queryClient.invalidateQueries({ queryKey: trpc.serviceAccounts.keys.pathKey() });
  };
  const handlers = {
    onSuccess: ({ key }: { readonly key: string }, { name }: { readonly name: string }) => {
      onCreated({ name, secret: key });
      refresh();
    },
    // If the response was lost, the key may be in the list.
    onError: (error: unknown) => {
      if (isResponseLost(error)) refresh();
    },
  };
  const create = useMutation(trpc.apiKeys.create.mutationOptions(handlers));
  const createForAccount = useMutation(trpc.serviceAccounts.createKey.mutationOptions(handlers));
  return (
    <ApiKeyForm
      {...props}
      initialValues={empty}
      restrictions={restrictions}
      onlyWorkspaceId={serviceAccount?.workspaceId}
      template={
        <Select
          label="Template"
          description="Fills in restrictions for a common use. Values that you entered are kept."
          allowDeselect={false}
          data={Object.entries(templates)
            .filter(([value]) => !serviceAccount || !workspaceTemplates.has(value))
            .map(([value, { label }]) => ({ value, label }))}
          value={template}
          onChange={(name) => applyTemplate(name as TemplateName)} // One of the options.
        />
      }
      describe={describeCreation}
      onSave={(values, settings) => {
        const key = { ...values, ...(settings && { settings }) };
        return serviceAccount
          ? createForAccount.mutateAsync({ ...key, ...serviceAccount })
          : create.mutateAsync(key);
      }}
    />
  );
}

function describeCreation({ code, message }: Failure): string {
  return code === "NO_ANSWER"
    ? "The server didn’t respond. The key may have been created. If it’s in the list of API keys, rotate or delete it, because its secret can’t be shown."
    : message;
}

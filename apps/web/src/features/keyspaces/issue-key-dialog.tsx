import { useIsMutating, useMutation } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { isResponseLost } from "../../server/failure.ts";
import { type Keyspace, trpc } from "../../server/trpc.ts";
import type { SecretFormProps } from "../../ui/secret-dialog.tsx";
import { FirstVerificationStatus } from "./first-verification.tsx";
import { IssuedKeyForm } from "./issued-key-form.tsx";
import { valuesOfNewKey } from "./issued-key-values.ts";
import { IssuedSecretDialog } from "./issued-secret-dialog.tsx";
import { refreshKeys } from "./refresh-keys.ts";

interface IssueKeyDialogProps {
  readonly workspaceId: string;
  readonly keyspace: Keyspace;
  /** The external ID of the consumer that the key is for; empty by default. */
  readonly externalId?: string;
  /** Whether to show the arrival of the first verification of the keyspace, next to the secret. */
  readonly isGuided?: boolean;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Issues a key, then shows its secret once. */
export function IssueKeyDialog(props: IssueKeyDialogProps): ReactElement {
  const { workspaceId, keyspace, isGuided = false, isOpen, onClose } = props;
  const isIssuing = useIsMutating({ mutationKey: trpc.issuedKeys.create.mutationKey() }) > 0;
  return (
    <IssuedSecretDialog
      isOpen={isOpen}
      isBusy={isIssuing}
      title="Issue a key"
      status={isGuided && <FirstVerificationStatus path={{ workspaceId, keyspaceId: keyspace.id }} />}
      onClose={onClose}
      form={(formProps) => <Form {...props} {...formProps} />}
    />
  );
}

/** Unmounts when the key is issued, so that its mutation, whose response has the secret, is garbage collected. */
function Form({
  workspaceId,
  keyspace,
  externalId = "",
  onCreated,
  onCancel,
}: IssueKeyDialogProps & SecretFormProps): ReactElement {
  const create = useMutation(
    trpc.issuedKeys.create.mutationOptions({
      onSuccess: ({ name, key }) => {
        onCreated({ name, secret: key });
        void refreshKeys();
      },
      // If the response was lost, the key may be in the list.
      onError: (error) => {
        if (isResponseLost(error)) void refreshKeys();
      },
    }),
  );
  // The page can load a newer version of the keyspace. The key gets what the user saw.
  const [{ initialValues, defaultLifetimeDays }] = useState(() => ({
    initialValues: { ...valuesOfNewKey(keyspace), externalId },
    defaultLifetimeDays: keyspace.defaultLifetimeDays,
  }));
  // Sent if the user left the default, which may have changed since.
  const defaultExpiry = defaultLifetimeDays !== null && {
    expiresAt: { inSeconds: defaultLifetimeDays * 86_400 },
  };
  return (
    <IssuedKeyForm
      initialValues={initialValues}
      defaultLifetimeDays={defaultLifetimeDays}
      action="Issue key"
      error={create.error}
      lostResponse="The server didn’t respond. The key may have been issued. If it’s in the list of keys, rotate or delete it, because its secret can’t be shown."
      isBusy={create.isPending}
      onSubmit={(fields) =>
        create.mutate({ workspaceId, keyspaceId: keyspace.id, fields: { ...defaultExpiry, ...fields } })
      }
      onCancel={onCancel}
    />
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { replaceData } from "../../server/replace-data.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { RevokeSecretsDialog, reportRevocation } from "../../ui/revoke-secrets-dialog.tsx";

interface RevokeOldSecretsDialogProps {
  readonly apiKey: ApiKey;
  /** The old secrets to revoke. */
  readonly formerSecrets: ApiKey["formerSecrets"];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Asks for confirmation before the old secrets of a key are revoked. */
export function RevokeOldSecretsDialog(props: RevokeOldSecretsDialogProps): ReactElement {
  const { apiKey, formerSecrets, isOpen, onClose } = props;
  const { length: count } = formerSecrets;
  const queryClient = useQueryClient();
  const revokeOldSecrets = useMutation(
    trpc.apiKeys.endOverlap.mutationOptions({
      onSuccess: async (key) => {
        await replaceData(queryClient, trpc.apiKeys.get.queryKey({ id: key.id }), key);
        onClose();
        reportRevocation(count, {
          ofOne: "Requests with it are rejected.",
          ofSeveral: "Requests with them are rejected.",
        });
      },
    }),
  );
  return (
    <RevokeSecretsDialog
      count={count}
      isOpen={isOpen}
      failure={revokeOldSecrets.error ? describeFailure(revokeOldSecrets.error) : undefined}
      isBusy={revokeOldSecrets.isPending}
      onCancel={onClose}
      onClosed={revokeOldSecrets.reset}
      onConfirm={() => revokeOldSecrets.mutate({ id: apiKey.id })}
    >
      <p className={classes.words}>
        Requests with an old secret of this key are rejected immediately. The current secret stays valid.
      </p>
      <dl className={classes.facts}>
        {formerSecrets.map(({ start, retiredAt, lastUsedAt }) => [
          <dt key={`${retiredAt} start`}>
            <code>{start}…</code>
          </dt>,
          <dd key={`${retiredAt} use`}>
            {lastUsedAt ? (
              <>
                Last used <RelativeTime at={lastUsedAt} />
              </>
            ) : (
              "Not used since it was replaced"
            )}
          </dd>,
        ])}
      </dl>
    </RevokeSecretsDialog>
  );
}

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Fragment, type ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { describeExactly } from "../../ui/elapsed.ts";
import { RevokeSecretsDialog, reportRevocation } from "../../ui/revoke-secrets-dialog.tsx";
import { describeSecret } from "./keyspace-status.ts";
import { LastUse } from "./last-use.tsx";

interface RevokeOldSecretsDialogProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  /** The old secrets to revoke. */
  readonly formerSecrets: IssuedKey["formerSecrets"];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Asks for confirmation before the old secrets of an issued key are revoked. */
export function RevokeOldSecretsDialog(props: RevokeOldSecretsDialogProps): ReactElement {
  const { workspaceId, issuedKey, formerSecrets, isOpen, onClose } = props;
  const { id, keyspaceId, externalId, lastUsedAt } = issuedKey;
  const { length: count } = formerSecrets;
  const queryClient = useQueryClient();
  const revoke = useMutation(
    trpc.issuedKeys.revokeOldSecrets.mutationOptions({
      onSuccess: (key) => {
        queryClient.setQueryData(trpc.issuedKeys.get.queryKey({ workspaceId, keyspaceId, id }), key);
        void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.pathKey() });
        onClose();
        reportRevocation(count, {
          ofOne: "It is no longer valid.",
          ofSeveral: "They are no longer valid.",
        });
      },
    }),
  );
  return (
    <RevokeSecretsDialog
      count={count}
      isOpen={isOpen}
      failure={revoke.error ? describeFailure(revoke.error) : undefined}
      isBusy={revoke.isPending}
      onCancel={onClose}
      onClosed={revoke.reset}
      onConfirm={() => revoke.mutate({ workspaceId, keyspaceId, id })}
    >
      <p className={classes.words}>
        Verifications of an old secret of this key fail with NOT_FOUND from the next request. The current
        secret stays valid. This can’t be undone.
      </p>
      <dl className={classes.facts}>
        {formerSecrets.map(({ start, retiredAt, goodUntil }) => (
          <Fragment key={start + retiredAt}>
            <dt>
              <code>{describeSecret({ start })}</code>
            </dt>
            <dd>Valid until {describeExactly(new Date(goodUntil))}</dd>
          </Fragment>
        ))}
        {externalId !== null && (
          <>
            <dt>Consumer</dt>
            <dd>{externalId}</dd>
          </>
        )}
        <dt>Key last used</dt>
        <dd>
          <LastUse at={lastUsedAt} />
        </dd>
      </dl>
      <p className={classes.words}>
        Latchkey doesn’t record which secret of a key was used, so an old one may still be in use.
      </p>
    </RevokeSecretsDialog>
  );
}

import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import classes from "../../ui/dialog.module.css";
import { RelativeTime } from "../../ui/relative-time.tsx";

interface EndOverlapDialogProps {
  readonly apiKey: ApiKey;
  /** The secrets that would end. */
  readonly former: ApiKey["formerSecrets"];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Asks before the former secrets of a key end early. */
export function EndOverlapDialog({ apiKey, former, isOpen, onClose }: EndOverlapDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const end = useMutation(
    trpc.apiKeys.endOverlap.mutationOptions({
      onSuccess: (key) => {
        queryClient.setQueryData(trpc.apiKeys.get.queryKey({ id: key.id }), key);
        onClose();
        // The button that opened the dialog is gone with the last of them.
        document.getElementById("content")?.focus();
        const message =
          former.length > 1
            ? `The ${former.length} old secrets were revoked. Requests with them are rejected.`
            : "The old secret was revoked. Requests with it are rejected.";
        notifications.show({ message });
      },
    }),
  );
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={former.length > 1 ? `Revoke the ${former.length} old secrets?` : "Revoke the old secret?"}
      action="Revoke"
      failure={end.error ? describeFailure(end.error) : undefined}
      isBusy={end.isPending}
      onCancel={onClose}
      onClosed={end.reset}
      onConfirm={() => end.mutate({ id: apiKey.id })}
    >
      <p className={classes.words}>
        Scripts and services that still use an old secret of this key are rejected on their next request. The
        current secret stays valid.
      </p>
      <dl className={classes.facts}>
        {former.map(({ start, retiredAt, lastUsedAt }) => [
          <dt key={`${retiredAt} start`}>
            <code>{start}…</code>
          </dt>,
          <dd key={`${retiredAt} use`}>
            {lastUsedAt ? (
              <>
                Last used <RelativeTime at={lastUsedAt} />
              </>
            ) : (
              "Not used since the rotation"
            )}
          </dd>,
        ])}
      </dl>
    </ConfirmDialog>
  );
}

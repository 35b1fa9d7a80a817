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
            ? `The ${former.length} old secrets have ended. They are refused from now on.`
            : "The old secret has ended. It is refused from now on.";
        notifications.show({ message });
      },
    }),
  );
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={former.length > 1 ? `End the ${former.length} old secrets now?` : "End the old secret now?"}
      action="End now"
      failure={end.error ? describeFailure(end.error) : undefined}
      isBusy={end.isPending}
      onCancel={onClose}
      onClosed={end.reset}
      onConfirm={() => end.mutate({ id: apiKey.id })}
    >
      <p className={classes.words}>
        Whatever still uses an old secret of this key is refused from its next request on. The secret in use
        now goes on.
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
              "Not used since it was replaced"
            )}
          </dd>,
        ])}
      </dl>
    </ConfirmDialog>
  );
}

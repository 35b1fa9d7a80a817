import { Button, Group, Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import classes from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
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
        notifications.show({ message: "The old secret has ended. It is refused from now on." });
      },
    }),
  );
  const failure = end.error ? describeFailure(end.error) : undefined;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(end.isPending, onClose)}
      title="End the old secret now?"
      size={480}
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
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onClose} disabled={end.isPending} data-autofocus>
          Cancel
        </Button>
        <Button
          className={classes.danger}
          loading={end.isPending}
          onClick={() => end.mutate({ id: apiKey.id })}
        >
          End now
        </Button>
      </Group>
    </Modal>
  );
}

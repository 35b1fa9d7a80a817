import { Button, Group } from "@mantine/core";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type ApiKey, trpc } from "../../server/trpc.ts";
import { Choice, Choices } from "../../ui/choice.tsx";
import classes from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { SecretDialog, type SecretFormProps } from "./secret-dialog.tsx";

interface RotateDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const overlaps = [
  { seconds: 3_600, label: "1 hour" },
  { seconds: 86_400, label: "24 hours" },
  { seconds: 604_800, label: "7 days" },
  { seconds: 0, label: "Not at all", help: "It is refused from its next request on." },
] as const;

/** Gives a key another secret and shows it once. */
export function RotateDialog({ apiKey, isOpen, onClose }: RotateDialogProps): ReactElement {
  const isRotating = useIsMutating({ mutationKey: trpc.apiKeys.rotate.mutationKey() }) > 0;
  return (
    <SecretDialog
      isOpen={isOpen}
      isBusy={isRotating}
      title={
        <>
          Rotate <Quoted>{apiKey.name}</Quoted>
        </>
      }
      onClose={onClose}
      form={(facts) => <RotateForm {...facts} apiKey={apiKey} />}
    />
  );
}

interface RotateFormProps extends SecretFormProps {
  readonly apiKey: ApiKey;
}

/** It is gone once the secret is there, and the call with it. */
function RotateForm({ apiKey, onCreated, onCancel }: RotateFormProps): ReactElement {
  const queryClient = useQueryClient();
  const [overlapSeconds, setOverlap] = useState<(typeof overlaps)[number]["seconds"]>(86_400);
  const rotate = useMutation(
    trpc.apiKeys.rotate.mutationOptions({
      // The answer must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ key }) => {
        onCreated({ name: apiKey.name, secret: key });
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
    }),
  );
  const failure = rotate.error ? describeFailure(rotate.error) : undefined;
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!rotate.isPending) rotate.mutate({ id: apiKey.id, overlapSeconds });
      }}
    >
      <p className={classes.words}>
        The key gets a new secret and stays the same otherwise. Put the new secret everywhere the key is used
        while the old one is still good.
      </p>
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <Choices label="How long the old secret stays good">
        {overlaps.map(({ seconds, label, ...more }) => (
          <Choice
            key={seconds}
            kind="radio"
            name="overlap"
            label={label}
            {...more}
            isChosen={seconds === overlapSeconds}
            hasFirstFocus={seconds === overlapSeconds}
            onChoose={() => setOverlap(seconds)}
          />
        ))}
      </Choices>
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onCancel} disabled={rotate.isPending}>
          Cancel
        </Button>
        <Button type="submit" loading={rotate.isPending}>
          Rotate key
        </Button>
      </Group>
    </form>
  );
}

import { Button, Group, Modal } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { ApiKeyFields, type ApiKeyValues, apiKeyRules, trimmed } from "./api-key-fields.tsx";
import classes from "./dialog.module.css";
import { NewSecret } from "./new-secret.tsx";

interface NewApiKeyDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface CreatedKey {
  readonly name: string;
  /** The key itself. It is in this state and nowhere else, so that closing or reloading forgets it. */
  readonly secret: string;
}

/** Asks for a name, then shows the new key once. */
export function NewApiKeyDialog({ isOpen, onClose }: NewApiKeyDialogProps): ReactElement {
  const [created, setCreated] = useState<CreatedKey>();
  const [isCopied, setIsCopied] = useState(false);
  const [isWarned, setIsWarned] = useState(false);
  const close = () => {
    onClose();
    setCreated(undefined);
    setIsCopied(false);
    setIsWarned(false);
  };
  // Escape is easily pressed by accident, and a key that was not copied is lost.
  const closeUnlessUncopied = () => (created && !isCopied && !isWarned ? setIsWarned(true) : close());

  return (
    <Modal
      opened={isOpen}
      onClose={closeUnlessUncopied}
      closeOnClickOutside={!created}
      title={created ? "Copy your new key" : "New API key"}
      size={created ? 640 : 480}
    >
      {created ? (
        <NewSecret
          {...created}
          isWarned={isWarned && !isCopied}
          onCopied={() => setIsCopied(true)}
          onDone={close}
        />
      ) : (
        <NewApiKeyForm onCreated={setCreated} onCancel={close} />
      )}
    </Modal>
  );
}

interface NewApiKeyFormProps {
  readonly onCreated: (created: CreatedKey) => void;
  readonly onCancel: () => void;
}

function NewApiKeyForm({ onCreated, onCancel }: NewApiKeyFormProps): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm<ApiKeyValues>({
    mode: "uncontrolled",
    initialValues: { name: "", description: "" },
    validate: apiKeyRules,
  });
  const create = useMutation(
    trpc.apiKeys.create.mutationOptions({
      // The answer holds the secret: it must not stay in the mutation cache.
      gcTime: 0,
      onSuccess: ({ key }, { name }) => {
        onCreated({ name, secret: key });
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
      onError: (error) => {
        for (const { path, message } of describeFailure(error).issues) form.setFieldError(path, message);
      },
    }),
  );
  const failure = create.error ? describeFailure(create.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((values) => create.mutate(trimmed(values)), focusFirstError(form.getInputNode))}
    >
      {failure && failure.issues.length === 0 && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <ApiKeyFields form={form} />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={create.isPending}>
          Save
        </Button>
      </Group>
    </form>
  );
}

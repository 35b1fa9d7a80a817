import { Button, Group, Skeleton, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure, isResponseLost } from "../../server/failure.ts";
import { type AffectedKey, type Member, type Role, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { Choice } from "../../ui/choice.tsx";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
import { usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { isAffected, KeyEffect, KeyName } from "./affected-key.tsx";
import classes from "./key-impact.module.css";
import { ReplacementKeys } from "./replacement-keys.tsx";

const lostResponse =
  "The server didn’t respond. The service account may have been created. If it’s in the list of service accounts, delete it before you try again, because its keys can’t be shown.";

interface KeyImpactProps {
  readonly workspace: SessionWorkspace;
  readonly member: Pick<Member, "userId" | "name">;
  /** Whether the member is the user. */
  readonly isSelf?: boolean;
  /** The role that the member gets; undefined if they are removed or leave. */
  readonly role?: Role;
  /** Whether the user may create service accounts; true by default. */
  readonly canReplace?: boolean;
  /** The label of the button that cancels the change once keys are replaced. */
  readonly cancelLabel: string;
  /** Called when the replacement has been created. */
  readonly onReplaced: () => void;
}

/**
 * The API keys of a member that lose access to this workspace, and their replacement: a service account with keys that
 * have the same restrictions.
 */
export function KeyImpact(props: KeyImpactProps): ReactElement | null {
  const { workspace, member, isSelf = false, role, canReplace = true, cancelLabel, onReplaced } = props;
  const workspaceId = workspace.id;
  const { userId } = member;
  const change = role ? { role } : {};
  const ownPreview = useQuery(
    trpc.offboarding.previewOwn.queryOptions({ workspaceId, ...change }, { staleTime: 0, enabled: isSelf }),
  );
  const memberPreview = useQuery(
    trpc.offboarding.preview.queryOptions(
      { workspaceId, userId, ...change },
      { staleTime: 0, enabled: !isSelf },
    ),
  );
  const preview = isSelf ? ownPreview : memberPreview;
  const queryClient = useQueryClient();
  const replace = useMutation(
    trpc.offboarding.replaceKeys.mutationOptions({
      onSuccess: () => {
        void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
        onReplaced();
      },
      // If the response was lost, the service account may be in the list.
      onError: (error) => {
        if (isResponseLost(error))
          void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
      },
    }),
  );
  usePendingSecrets(replace.isPending);
  // The preview is loaded again when the window gets the focus, which must not replace secrets or a selection.
  if (replace.data) {
    return <ReplacementKeys workspace={workspace} cancelLabel={cancelLabel} {...replace.data} />;
  }
  if (preview.error && !preview.data) {
    const { message, requestId } = describeFailure(preview.error);
    return (
      <FormFailure
        message={`Couldn’t load ${isSelf ? "your" : "their"} API keys. ${message}`}
        requestId={requestId}
      />
    );
  }
  if (!preview.data) {
    const label = isSelf ? "Loading your API keys" : "Loading their API keys";
    return <Skeleton h={64} mb={16} role="status" aria-label={label} />;
  }
  const { keys, total, replacementRole } = preview.data;
  const affected = keys.filter(isAffected);
  if (affected.length === 0) {
    const isRejected = role === undefined && total === keys.length;
    return (
      <p className={dialogClasses.words}>
        {total === 0
          ? `${isSelf ? "You" : "They"} have no API key that can reach this workspace.`
          : isRejected
            ? `This workspace already rejects all of ${isSelf ? "your" : "their"} API keys.`
            : `None of ${isSelf ? "your" : "their"} API keys loses access.`}
      </p>
    );
  }
  return (
    <Impact
      keys={affected}
      omitted={total - keys.length}
      isRemoval={role === undefined}
      member={member}
      canReplace={canReplace}
      replacementRole={replacementRole}
      isReplacing={replace.isPending}
      failure={replace.error ? describeFailure(replace.error) : undefined}
      onReplace={(name, keyIds) => replace.mutate({ workspaceId, userId, name, keyIds: [...keyIds] })}
    />
  );
}

interface ImpactProps {
  readonly keys: readonly AffectedKey[];
  /** How many further keys are not shown. */
  readonly omitted: number;
  readonly isRemoval: boolean;
  readonly member: Pick<Member, "name">;
  readonly canReplace: boolean;
  readonly replacementRole: Role;
  readonly isReplacing: boolean;
  readonly failure: ReturnType<typeof describeFailure> | undefined;
  readonly onReplace: (name: string, keyIds: readonly string[]) => void;
}

function Impact(props: ImpactProps): ReactElement {
  const { keys, omitted, isRemoval, member, canReplace, replacementRole } = props;
  const { isReplacing, failure, onReplace } = props;
  /** Undefined until the user has chosen to replace keys. */
  const [isOffered, setIsOffered] = useState<boolean>();
  // Not the selected ones: keys that appear when the list is loaded again are selected, as all are at first.
  const [deselected, setDeselected] = useState<ReadonlySet<string>>(new Set());
  const selected = keys.filter(({ id }) => !deselected.has(id));
  const suggestedName = `${[...member.name].slice(0, 85).join("")}’s integrations`; // At most 100 characters.
  const [name, setName] = useState(suggestedName);
  useUnsavedInput(() => isOffered === true && name !== suggestedName);
  const select = (id: string, isSelected: boolean) =>
    setDeselected(
      (before) => new Set(isSelected ? [...before].filter((other) => other !== id) : [...before, id]),
    );
  const isInvalid = collapseSpaces(name) === "";
  return (
    <section className={classes.impact} aria-label="API keys that lose access">
      <p className={classes.title}>
        {countOf(keys.length, "API key loses", "API keys lose")}{" "}
        {isRemoval
          ? `access to this workspace, and all of ${keys.length === 1 ? "its" : "their"} requests here are rejected:`
          : "permissions in this workspace:"}
      </p>
      <ul className={classes.keys}>
        {keys.map((key) => (
          <li key={key.id}>
            {isOffered ? (
              <Choice
                kind="checkbox"
                label={<KeyName apiKey={key} />}
                help={<KeyEffect apiKey={key} isRemoval={isRemoval} />}
                isChosen={!deselected.has(key.id)}
                onChoose={(isChosen) => select(key.id, isChosen)}
              />
            ) : (
              <div className={classes.facts}>
                <KeyName apiKey={key} />
                <span className={classes.detail}>
                  <KeyEffect apiKey={key} isRemoval={isRemoval} />
                </span>
              </div>
            )}
          </li>
        ))}
      </ul>
      {omitted > 0 && <p className={classes.detail}>And {countOf(omitted, "more key", "more keys")}.</p>}
      {failure && (
        <FormFailure
          message={failure.code === "NO_ANSWER" ? lostResponse : failure.message}
          requestId={failure.requestId}
        />
      )}
      {isOffered ? (
        <>
          <TextInput
            label="Name of the service account"
            description={`The account gets the ${replacementRole} role and a new key, with the same restrictions, for each selected key.`}
            value={name}
            maxLength={100}
            error={isInvalid && "Enter a name."}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            autoFocus
          />
          <Group gap={8} justify="flex-end">
            <Button variant="default" disabled={isReplacing} onClick={() => setIsOffered(false)}>
              Don’t replace
            </Button>
            <BusyButton
              loading={isReplacing}
              disabled={isInvalid || selected.length === 0}
              onClick={() =>
                onReplace(
                  collapseSpaces(name),
                  selected.map(({ id }) => id),
                )
              }
            >
              Create {countOf(selected.length, "key", "keys")}
            </BusyButton>
          </Group>
        </>
      ) : (
        canReplace && (
          // After "Don’t replace", the button that had the focus is removed.
          <Button variant="default" autoFocus={isOffered === false} onClick={() => setIsOffered(true)}>
            Replace with service account keys
          </Button>
        )
      )}
    </section>
  );
}

import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Fragment, type ReactElement, useState } from "react";
import type { IssuedKey } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { useNow } from "../../ui/use-now.ts";
import { describeSecret } from "./keyspace-status.ts";
import classes from "./keyspaces.module.css";

const revokeDialog = {
  load: () => import("./revoke-old-secrets-dialog.tsx").then((module) => module.RevokeOldSecretsDialog),
  closed: { isOpen: false },
};

interface SecretsSectionProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  readonly canManage: boolean;
}

/** The secrets of a key that are valid, the current one and old ones until their overlap ends, and the action that revokes these. */
export function SecretsSection({ workspaceId, issuedKey, canManage }: SecretsSectionProps): ReactElement {
  const now = useNow();
  const [isRevokeOpen, revocation] = useDisclosure(false);
  const formerSecrets = issuedKey.formerSecrets.filter(({ goodUntil }) => new Date(goodUntil) > now);
  // What the dialog shows, which stays the same while it closes after the change.
  const [shownSecrets, setShownSecrets] = useState(formerSecrets);
  return (
    <Section
      title="Secrets"
      action={
        canManage &&
        formerSecrets.length > 0 && (
          <Button
            variant="default"
            onClick={() => {
              setShownSecrets(formerSecrets);
              revocation.open();
            }}
          >
            {formerSecrets.length === 1 ? "Revoke old secret" : "Revoke old secrets"}
          </Button>
        )
      }
    >
      <dl className={sectionClasses.facts}>
        <dt>Current</dt>
        <dd>
          <code>{describeSecret(issuedKey)}</code>
        </dd>
        {formerSecrets.map(({ start, retiredAt, goodUntil }) => (
          <Fragment key={start + retiredAt}>
            <dt>Old</dt>
            <dd>
              <span className={classes.lines}>
                <code>{describeSecret({ start })}</code>
                <span>
                  Replaced <RelativeTime at={retiredAt} />, valid until {describeExactly(new Date(goodUntil))}
                </span>
              </span>
            </dd>
          </Fragment>
        ))}
      </dl>
      <LazyDialog
        source={revokeDialog}
        props={{
          workspaceId,
          issuedKey,
          formerSecrets: shownSecrets,
          isOpen: isRevokeOpen,
          onClose: revocation.close,
        }}
      />
    </Section>
  );
}

import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import { useNow } from "../../ui/use-now.ts";
import pageClasses from "./key-page.module.css";
import classes from "./rows.module.css";

const revokeOldSecretsDialog = {
  load: () => import("./revoke-old-secrets-dialog.tsx").then((module) => module.RevokeOldSecretsDialog),
  closed: { isOpen: false },
};

/** The valid secrets of a key, and the action that revokes the old ones. */
export function SecretsSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const now = useNow();
  const [isRevocationOpen, revocation] = useDisclosure(false);
  const formerSecrets = apiKey.formerSecrets.filter(({ goodUntil }) => new Date(goodUntil) > now);
  return (
    <Section
      title="Secrets"
      action={
        formerSecrets.length > 0 && (
          <Button variant="default" onClick={revocation.open}>
            {formerSecrets.length === 1 ? "Revoke old secret" : "Revoke old secrets"}
          </Button>
        )
      }
    >
      <ul className={classes.rows}>
        <li className={classes.row}>
          <code className={pageClasses.mono}>{apiKey.start}…</code>
          <span className={classes.time}>Current</span>
        </li>
        {formerSecrets.map(({ start, retiredAt, goodUntil, lastUsedAt }) => (
          <li key={start + retiredAt} className={classes.row}>
            <span className={classes.facts}>
              <code className={pageClasses.mono}>{start}…</code>
              <span className={classes.detail}>
                Replaced <RelativeTime at={retiredAt} />, valid until {describeExactly(new Date(goodUntil))}
              </span>
            </span>
            <span className={classes.time}>
              {lastUsedAt ? (
                <>
                  Last used <RelativeTime at={lastUsedAt} />
                </>
              ) : (
                "Not used since it was replaced"
              )}
            </span>
          </li>
        ))}
      </ul>
      <LazyDialog
        source={revokeOldSecretsDialog}
        props={{ apiKey, formerSecrets, isOpen: isRevocationOpen, onClose: revocation.close }}
      />
    </Section>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { type Replacement, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { countOf } from "../../ui/count.ts";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { useUncopiedSecrets } from "../../ui/uncopied-secrets.ts";
import classes from "./key-impact.module.css";

const refreshMilliseconds = 2_000;

interface ReplacementKeysProps extends Replacement {
  readonly workspace: SessionWorkspace;
  /** The label of the button that keeps the old keys. */
  readonly cancelLabel: string;
}

/** Shows the new secrets once, and whether each has been used, so that the user can remove the member after that. */
export function ReplacementKeys(props: ReplacementKeysProps): ReactElement {
  const { workspace, cancelLabel, serviceAccount, keys } = props;
  const workspaceId = workspace.id;
  const { userId, name } = serviceAccount;
  const current = useQuery({
    ...trpc.serviceAccounts.keys.queryOptions({ workspaceId, userId }),
    refetchInterval: refreshMilliseconds,
  });
  const { uncopiedCount, isWarningShown, onCopied } = useUncopiedSecrets(keys.map(({ id }) => id));
  const lastUses = new Map(current.data?.items.map(({ id, lastUsedAt }) => [id, lastUsedAt]));
  return (
    <section className={classes.impact} aria-label="New API keys">
      <p className={classes.title}>
        Copy the new keys of{" "}
        <Link
          to="/w/$slug/members/service-accounts/$userId"
          params={{ slug: workspace.slug, userId }}
          // In this tab, the keys would be lost.
          target="_blank"
          title="Opens in a new tab"
        >
          <bdi>{name}</bdi>
        </Link>{" "}
        now. They won’t be shown again. Then switch each integration to its new key. The old keys work until
        you confirm below. To give integrations time to switch, select <strong>{cancelLabel}</strong>.
      </p>
      <ul className={classes.keys}>
        {keys.map(({ id, name: keyName, key }, index) => (
          <li key={id} className={classes.secret}>
            <span className={classes.name}>
              <bdi>{keyName}</bdi>
            </span>
            <CodeLine
              code={key}
              copyLabel={`Copy the key ${keyName}`}
              hasAutofocus={index === 0}
              onCopied={() => onCopied(id)}
            />
            <Use at={lastUses.get(id) ?? null} />
          </li>
        ))}
      </ul>
      <p className={classes.warning} role="alert">
        {isWarningShown &&
          `You haven’t copied ${countOf(uncopiedCount, "key", "keys")}, and ${uncopiedCount === 1 ? "it" : "they"} won’t be shown again. To continue without copying, try again.`}
      </p>
    </section>
  );
}

/** The time is outside the status, because screen readers would announce each of its changes. */
function Use({ at }: { readonly at: string | null }): ReactElement {
  return (
    <span className={classes.detail}>
      <span role="status">The new key {at === null ? "hasn’t been used yet." : "was used"}</span>
      {at !== null && (
        <>
          {" "}
          <RelativeTime at={at} />.
        </>
      )}
    </span>
  );
}

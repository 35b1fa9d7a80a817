import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactElement, useEffect } from "react";
import { type Keyspace, trpc } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { outcomeTitle } from "../../ui/outcome-titles.ts";
import { Section } from "../../ui/section.tsx";
import { StatusBadge, type StatusTone } from "../../ui/status-badge.tsx";
import classes from "./keyspaces.module.css";
import { refreshRecentUsage } from "./recent-usage.tsx";
import { refreshKeys } from "./refresh-keys.ts";
import { type KeyspacePath, useLatestOutcome } from "./use-keyspaces.ts";
import { verifyCommand } from "./verify-command.ts";

/** The outcomes that are not rejections. */
const tones: Readonly<Record<string, StatusTone>> = {
  VALID: "allowed",
  CHECKED: "allowed",
  RATE_LIMITED: "limited",
};

/** Whether the first verification of a keyspace has arrived, and its outcome. */
export function FirstVerificationStatus({ path }: { readonly path: KeyspacePath }): ReactElement {
  const queryClient = useQueryClient();
  const outcome = useLatestOutcome(path).data?.outcome ?? null;
  const hasArrived = outcome !== null;
  useEffect(() => {
    if (!hasArrived) return;
    // The table of keys shows when the key was last used, and its uses. Keys may have been issued since the page was loaded.
    void refreshKeys();
    void refreshRecentUsage(queryClient);
  }, [hasArrived, queryClient]);
  return (
    <p className={classes.arrival} role="status">
      {outcome === null ? (
        "Waiting for a verification. It appears here within seconds."
      ) : (
        <>
          A verification has arrived.{" "}
          <StatusBadge label={outcomeTitle(outcome)} tone={tones[outcome] ?? "rejected"} />
        </>
      )}
    </p>
  );
}

export interface FirstVerificationProps {
  readonly workspaceId: string;
  readonly keyspace: Keyspace;
}

/** Guides from the first key of a keyspace to its first verification. */
export function FirstVerification({ workspaceId, keyspace }: FirstVerificationProps): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <Section title="Verify a key" isWide>
      <ol className={classes.steps}>
        <li>
          <h3>Create an API key for your service</h3>
          <p>
            Your service verifies keys with an API key of its own. Restrict it to this workspace and to{" "}
            <code>keys:verify</code>, so that it can do nothing else in the workspace.
          </p>
          <Button
            variant="default"
            leftSection={<IconPlus size={16} />}
            renderRoot={(props) => <Link {...props} to="/account/api-keys" search={{ dialog: "new" }} />}
          >
            New API key
          </Button>
        </li>
        <li>
          <h3>Run the command</h3>
          <p>
            Replace <code>$API_KEY</code> with the API key, and <code>{keyspace.prefix}_…</code> with the key
            that you issued.
          </p>
          <CodeLine code={verifyCommand(instance.baseUrl, `${keyspace.prefix}_…`)} copyLabel="Copy command" />
        </li>
        <li>
          <h3>See the verification arrive</h3>
          <FirstVerificationStatus path={{ workspaceId, keyspaceId: keyspace.id }} />
        </li>
      </ol>
    </Section>
  );
}

import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type AffectedKey, type Member, trpc, trpcClient } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
import { OwnerName } from "../../ui/owner-name.tsx";
import { isAffected, KeyName, KeyUses } from "./affected-key.tsx";
import classes from "./key-impact.module.css";

interface BulkKeyImpactProps {
  readonly workspaceId: string;
  /** The people who are to be removed. */
  readonly members: readonly Member[];
}

interface Impact {
  readonly keys: readonly { readonly apiKey: AffectedKey; readonly owner: Member }[];
  /** How many further keys the API didn't list. */
  readonly omitted: number;
}

/** The number of concurrent previews, each of which searches the uses of keys. */
const chunkSize = 2;
/** How many keys are listed, the busiest first. */
const shownKeys = 20;

/** The API keys that stop working here if several members are removed. */
export function BulkKeyImpact({ workspaceId, members }: BulkKeyImpactProps): ReactElement {
  const impact = useQuery({
    queryKey: [...trpc.offboarding.preview.pathKey(), workspaceId, members.map(({ userId }) => userId)],
    queryFn: ({ signal }) => previewRemoval(workspaceId, members, signal),
    staleTime: 0,
  });
  if (impact.error) {
    const { message, requestId } = describeFailure(impact.error);
    return (
      <div className={dialogClasses.failure}>
        <FormFailure message={`Couldn’t load their API keys. ${message}`} requestId={requestId} />
      </div>
    );
  }
  if (!impact.data) return <Skeleton h={64} mb={16} role="status" aria-label="Loading their API keys" />;
  const { keys, omitted } = impact.data;
  if (keys.length === 0) return <p className={dialogClasses.words}>None of their API keys loses access.</p>;
  const hidden = omitted + Math.max(0, keys.length - shownKeys);
  return (
    <section className={classes.impact} aria-label="API keys that lose access">
      <p className={classes.title}>
        {countOf(keys.length + omitted, "API key loses", "API keys lose")} access to this workspace:
      </p>
      <ul className={classes.keys}>
        {keys.slice(0, shownKeys).map(({ apiKey, owner }) => (
          <li key={apiKey.id} className={classes.facts}>
            <KeyName apiKey={apiKey} />
            <span className={classes.detail}>
              <OwnerName {...owner} /> · <KeyUses apiKey={apiKey} />
            </span>
          </li>
        ))}
      </ul>
      {hidden > 0 && <p className={classes.detail}>And {countOf(hidden, "more key", "more keys")}.</p>}
      <p className={classes.detail}>
        To move keys to a service account first, remove their owner individually.
      </p>
    </section>
  );
}

async function previewRemoval(
  workspaceId: string,
  members: readonly Member[],
  signal: AbortSignal,
): Promise<Impact> {
  const keys: { apiKey: AffectedKey; owner: Member }[] = [];
  let omitted = 0;
  for (let start = 0; start < members.length; start += chunkSize) {
    const chunk = members.slice(start, start + chunkSize);
    const previews = await Promise.all(
      chunk.map(async (owner) => {
        const { userId } = owner;
        return {
          owner,
          ...(await trpcClient.offboarding.preview.query({ workspaceId, userId }, { signal })),
        };
      }),
    );
    for (const { owner, keys: listed, total } of previews) {
      omitted += total - listed.length;
      keys.push(...listed.filter(isAffected).map((apiKey) => ({ apiKey, owner })));
    }
  }
  return { keys: keys.toSorted((one, other) => other.apiKey.recentUses - one.apiKey.recentUses), omitted };
}

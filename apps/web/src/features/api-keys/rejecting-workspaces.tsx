import { IconBan } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { type ApiKey, type RejectingWorkspace, trpc } from "../../server/trpc.ts";
import { describeRemedy, describeRule } from "../../ui/describe-violation.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { OwnerName } from "../../ui/owner-name.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import classes from "./key-banner.module.css";

/** The workspaces that reject a key, each with the reason and what to do. Renders nothing if there are none. */
export function RejectingWorkspaces({ apiKey }: { readonly apiKey: ApiKey }): ReactElement | null {
  const { data } = useQuery(trpc.apiKeys.rejectingWorkspaces.queryOptions({ id: apiKey.id }));
  if (!data || data.length === 0) return null;
  return (
    <>
      {data.map((rejecting) => (
        <section
          key={rejecting.workspace.id}
          className={classes.banner}
          aria-label={`Access to ${rejecting.workspace.name}`}
        >
          <IconBan size={18} className={classes.icon} aria-hidden="true" />
          <Reason rejecting={rejecting} hasOtherWorkspaces={!apiKey.serviceAccount} />
        </section>
      ))}
    </>
  );
}

function Reason({
  rejecting,
  hasOtherWorkspaces,
}: {
  readonly rejecting: RejectingWorkspace;
  /** False for a key of a service account, which works in one workspace only. */
  readonly hasOtherWorkspaces: boolean;
}): ReactElement {
  const { workspace, isBlocked, blockedAt, blockedByName, blockedByKind, violation, policy } = rejecting;
  const name = <Quoted>{workspace.name}</Quoted>;
  if (isBlocked) {
    return (
      <p>
        <strong>{name} blocked this key.</strong>{" "}
        {blockedByName === null ? "An admin" : <OwnerName name={blockedByName} kind={blockedByKind} />}{" "}
        blocked it
        {blockedAt !== null && ` on ${describeExactly(new Date(blockedAt))}`}. Ask an owner or admin of the
        workspace to unblock it.{hasOtherWorkspaces && " Other workspaces are not affected."}
      </p>
    );
  }
  return (
    <p>
      <strong>{name} rejects this key.</strong>{" "}
      {violation && (
        <>
          There, keys {describeRule(violation, policy)}. {describeRemedy(violation)}
        </>
      )}
    </p>
  );
}
